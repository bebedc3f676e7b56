# An agent in Python that books berths. Its last line puts it behind Moorage.
import json
import os
import urllib.request

from moorage import serve

MODEL = os.environ.get('MODEL', 'gpt-5-mini')
BASE_URL = os.environ.get('OPENAI_BASE_URL', 'https://api.openai.com/v1')
PARAMETERS = {'type': 'object', 'properties': {'boat': {'type': 'string'}}, 'required': ['boat']}
BOOK_BERTH = {'name': 'book_berth', 'description': 'Books a berth for a boat', 'parameters': PARAMETERS}
berths = iter(range(1, 1000))


def book(boat):
    return f'Berth {next(berths)} is booked for {boat}'


def ask_model(messages):
    asked = {'model': MODEL, 'messages': messages, 'tools': [{'type': 'function', 'function': BOOK_BERTH}]}
    headers = {'authorization': f'Bearer {os.environ["OPENAI_API_KEY"]}', 'content-type': 'application/json'}
    request = urllib.request.Request(f'{BASE_URL}/chat/completions', json.dumps(asked).encode(), headers)
    with urllib.request.urlopen(request) as reply:
        said = json.load(reply)
    return said['choices'][0]['message'], said['usage']


def answer(run):
    messages = [*run.history, {'role': 'user', 'content': run.message}]
    for _ in range(5):
        message, spent = ask_model(messages)
        run.usage(model=f'openai/{MODEL}', input_tokens=spent['prompt_tokens'], output_tokens=spent['completion_tokens'])
        if not message.get('tool_calls'):
            return message['content']
        messages.append(message)
        for call in message['tool_calls']:
            boat = json.loads(call['function']['arguments'])['boat']
            content = run.keep(f'a berth for {boat}', lambda: book(boat))
            messages.append({'role': 'tool', 'tool_call_id': call['id'], 'content': content})
    raise RuntimeError('The model did not come to an end')


serve(answer, os.environ['AGENT_SECRET'], port=int(os.environ.get('PORT', '4000')))
