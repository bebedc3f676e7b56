/** Words that don't say what a text is about. */
export const STOP_WORDS = wordsIn(`
  a about above after again all also am an and any are as at be because been before being below between both but by ca
  can cannot could did do does doing dont down during each few for from further had has have having he her here hers
  herself him himself his how i if im in into is it its itself ive just let me more most my myself no nor not now of off on
  once only or other our ours ourselves out over own please really same shall she should so some such than that the their
  theirs them themselves then there these they this those through to too under until up us very was we well were what when
  where which while who whom why will with wo would yes you your yours yourself yourselves`)

/** Words that show that a query is in English, because other languages hardly use them. */
export const ENGLISH_WORDS = wordsIn('what which when where why who how did does is are the my of')

/** Words of English questions that don't occur in the answers. They are used only if a query has no other words. */
export const ASKING_WORDS = wordsIn(
  'many much kind type sort mention mentioned describe described likely ever different specific',
)

/** In a query that contains a time, these words only ask what was said at that time. */
export const TELLING_WORDS = wordsIn(
  'say said tell told talk talked speak spoke discuss discussed mention mentioned happen happened write wrote news',
)

/**
 * Irregular forms by their base form, so a question matches its answer: `Where did she go?`, `She went home.` Forms
 * that are usually a different word are left out: a bit, a rose, a shot.
 */
const IRREGULAR = `
  arise arose arisen; awake awoke awoken; beat beaten; become became; begin began begun; bend bent; bind bound;
  bite bitten; bleed bled; blow blew blown; break broke broken; breed bred; bring brought; build built; burn burnt;
  buy bought; catch caught; choose chose chosen; cling clung; come came; creep crept; deal dealt; die died dying dead;
  dig dug; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed;
  feel felt; fight fought; find found; flee fled; fly flew flown; forbid forbade forbidden; forget forgot forgotten;
  forgive forgave forgiven; freeze froze frozen; get got gotten; give gave given; go went gone goes; grow grew grown;
  hang hung; hear heard; hide hid hidden; hold held; keep kept; kneel knelt; know knew known; lay laid; lead led;
  leap leapt; learn learnt; leave left; lend lent; lie lying lied; light lit; lose lost; make made; mean meant; meet met;
  mistake mistook mistaken; outgrow outgrew outgrown; overcome overcame; pay paid; prove proven; rebuild rebuilt;
  ride rode ridden; ring rang rung; rise risen; run ran; say said; see saw seen; seek sought; sell sold; send sent;
  sew sewn; shake shook shaken; shine shone; show shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat;
  sleep slept; slide slid; speak spoke spoken; spend spent; spill spilt; spin spun; stand stood; steal stole stolen;
  stick stuck; sting stung; stink stank stunk; strike struck; swear swore sworn; sweep swept; swell swollen;
  swim swam swum; swing swung; take took taken; teach taught; tear tore torn; tell told; think thought;
  throw threw thrown; tie tying tied; undergo underwent undergone; understand understood; wake woke woken;
  wear wore worn; weave wove woven; weep wept; win won; withdraw withdrew withdrawn; write wrote written;
  calf calves; child children; foot feet; goose geese; half halves; knife knives; loaf loaves; man men; mouse mice;
  person people; shelf shelves; thief thieves; tooth teeth; wife wives; wolf wolves; woman women`

/** The base form of each irregular form. */
export const BASES: ReadonlyMap<string, string> = new Map(
  IRREGULAR.split(';').flatMap((group) => {
    const [base = '', ...forms] = group.trim().split(/\s+/)
    return forms.map((form) => [form, base] as const)
  }),
)

function wordsIn(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/))
}
