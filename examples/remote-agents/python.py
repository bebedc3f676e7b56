# An agent in Python that books berths. Its last line puts it behind Moorage.
import json, os
from moorage_agent import post, serve

MODEL = os.environ.get('MODEL', 'gpt-5-mini')
BASE_URL = os.environ.get('OPENAI_BASE_URL', 'https://api.openai.com/v1')
PARAMETERS = {'type': 'object', 'properties': {'boat': {'type': 'string'}}, 'required': ['boat']}
BOOK_BERTH = {'name': 'book_berth', 'description': 'Books a berth for a boat', 'parameters': PARAMETERS}
berths = iter(range(1, 1000))


def book(boat):
    return f'Berth {next(berths)} is booked for {boat}'


def ask_model(messages):
    asked = {'model': MODEL, 'messages': messages, 'tools': [{'type': 'function', 'function': BOOK_BERTH}]}
    reply = post(f'{BASE_URL}/chat/completions', os.environ['OPENAI_API_KEY'], asked)
    return reply['choices'][0]['message'], reply['usage']


def answer(run):
    messages = run['history'] + [{'role': 'user', 'content': run['message']}]
    usage = []
    for _ in range(5):
        message, spent = ask_model(messages)
        tokens = {'input_tokens': spent['prompt_tokens'], 'output_tokens': spent['completion_tokens']}
        usage.append({'model': f'openai/{MODEL}', **tokens})
        if not message.get('tool_calls'):
            return {'response': message['content'], 'usage': usage}
        messages.append(message)
        for call in message['tool_calls']:
            boat = json.loads(call['function']['arguments'])['boat']
            content = run.keep(f'a berth for {boat}', lambda: book(boat))
            messages.append({'role': 'tool', 'tool_call_id': call['id'], 'content': content})
    raise RuntimeError('The model did not come to an end')


serve(answer, os.environ['AGENT_SECRET'], int(os.environ.get('PORT', '4000')))
