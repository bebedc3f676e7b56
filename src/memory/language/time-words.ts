import { stemOf, stemsOf } from './stems.ts'

export type Unit = 'day' | 'week' | 'weekend' | 'month' | 'year'

/** What a word says about time, in the languages that people use most. */
export type TimeWord =
  | { is: 'day'; offset: number }
  | { is: 'span'; unit: Unit; offset: number }
  | { is: 'month' | 'weekday'; number: number }
  | { is: 'unit'; unit: Unit }
  | { is: 'last' | 'this' | 'next' | 'ago' | 'earlier' | 'within' }

const WORDS: [TimeWord, string][] = [
  [{ is: 'day', offset: 0 }, "today tonight heute aujourd'hui hoy hoje oggi vandaag сегодня 今天 今日 오늘 اليوم"],
  [{ is: 'day', offset: -1 }, 'yesterday gestern hier ayer ontem ieri gisteren вчера 昨天 昨日 어제 أمس امس البارحة'],
  [{ is: 'day', offset: -2 }, 'vorgestern anteayer anteontem eergisteren позавчера 前天 一昨 그저'],
  [{ is: 'day', offset: 1 }, 'tomorrow morgen demain mañana amanhã domani завтра 明天 明日 내일 غدا'],
  [{ is: 'span', unit: 'week', offset: -1 }, '上周 上週 先週 난주'],
  [{ is: 'span', unit: 'week', offset: 0 }, '本周 这周 這週 今週 번주'],
  [{ is: 'span', unit: 'month', offset: -1 }, '上个 上個 先月 난달'],
  [{ is: 'span', unit: 'month', offset: 0 }, '今月 번달'],
  [{ is: 'span', unit: 'year', offset: -1 }, '去年 昨年 작년'],
  [{ is: 'span', unit: 'year', offset: 0 }, '今年 올해'],
  [
    { is: 'unit', unit: 'day' },
    'day days night morning afternoon evening tag tagen tage jour jours día días dia dias giorni день дня дней',
  ],
  [
    { is: 'unit', unit: 'week' },
    'week weeks woche wochen semaine semaines semana semanas settimana неделе неделю недели tuần الأسبوع',
  ],
  [{ is: 'unit', unit: 'weekend' }, 'weekend wochenende выходные выходных'],
  [
    { is: 'unit', unit: 'month' },
    'month months monat monate monaten mois mes meses mese месяц месяце месяца tháng الشهر',
  ],
  [
    { is: 'unit', unit: 'year' },
    'year years jahr jahre jahren année années año años ano anos anno год году года năm السنة العام',
  ],
  [
    { is: 'last' },
    'last past previous letzte letzten letzter letztes vergangene vergangenen dernier dernière pasado pasada passado passada scorso scorsa прошлой прошлом прошлый прошлую прошлого trước الماضي الماضية',
  ],
  [{ is: 'this' }, 'this diese diesem diesen dieses cet cette este esta этой этом эту này هذا هذه'],
  [
    { is: 'next' },
    'next nächste nächsten nächster nächstes prochain prochaine próximo próxima prossimo следующей следующий',
  ],
  [{ is: 'ago' }, 'ago назад fa'],
  [{ is: 'earlier' }, 'vor hace'],
  [{ is: 'within' }, 'in im en em during since of from seit de в во за с'],
]

const MONTHS = [
  'january jan januar janvier enero janeiro gennaio январь января январе 一月',
  'february feb februar février febrero fevereiro febbraio февраль февраля феврале 二月',
  'march märz mars marzo março март марта марте 三月',
  'april apr avril abril aprile апрель апреля апреле 四月',
  'may mai mayo maio maggio май мая мае 五月',
  'june jun juni juin junio junho giugno июнь июня июне 六月',
  'july jul juli juillet julio julho luglio июль июля июле 七月',
  'august aug août agosto август августа августе 八月',
  'september sept sep septembre septiembre setembro settembre сентябрь сентября сентябре 九月',
  'october oct oktober octobre octubre outubro ottobre октябрь октября октябре 十月',
  'november nov novembre noviembre novembro ноябрь ноября ноябре',
  'december dec dezember décembre diciembre dezembro dicembre декабрь декабря декабре',
]

const WEEKDAYS = [
  'sunday sonntag dimanche domingo domenica воскресенье 期日 期天 周日 日曜 일요',
  'monday montag lundi lunes lunedì понедельник 期一 周一 月曜 월요',
  'tuesday dienstag mardi martes martedì вторник 期二 周二 火曜 화요',
  'wednesday mittwoch mercredi miércoles mercoledì среду среда 期三 周三 水曜 수요',
  'thursday donnerstag jeudi jueves giovedì четверг 期四 周四 木曜 목요',
  'friday freitag vendredi viernes venerdì пятницу пятница 期五 周五 金曜 금요',
  'saturday samstag sonnabend samedi sábado sabato субботу суббота 期六 周六 土曜 토요',
]

const NUMBERS = [
  'one a an einem einer ein eine une un una uno один одну',
  'two zwei deux dos due два две',
  'three drei trois tres tre три',
  'four vier quatre cuatro четыре',
  'five fünf cinq cinco пять',
  'six sechs seis шесть',
  'seven sieben siete',
  'eight acht huit ocho',
  'nine neun neuf nueve',
  'ten zehn dix diez',
  'eleven elf',
  'twelve zwölf',
]

const ORDINALS = `first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
  fifteenth sixteenth seventeenth eighteenth nineteenth twentieth`

/** Phrases of two stems: by the first stem, and then by the second. */
const PHRASES: ReadonlyMap<string, ReadonlyMap<string, TimeWord>> = new Map([
  [stemOf('before'), new Map([[stemOf('yesterday'), day(-2)]])],
  [stemOf('avant'), new Map([[stemOf('hier'), day(-2)]])],
  // Vietnamese: hôm kia, hôm qua, hôm nay.
  [
    'hom',
    new Map([
      ['kia', day(-2)],
      ['qua', day(-1)],
      ['nay', day(0)],
    ]),
  ],
])

const TIME_WORDS: ReadonlyMap<string, TimeWord> = new Map(
  [
    ...WORDS,
    ...MONTHS.map((words, number): [TimeWord, string] => [{ is: 'month', number }, words]),
    ...WEEKDAYS.map((words, number): [TimeWord, string] => [{ is: 'weekday', number }, words]),
  ].flatMap(([meaning, words]) => stemsOf(words).map((stem) => [stem, meaning] as const)),
)

const CARDINAL_NUMBERS: ReadonlyMap<string, number> = new Map(
  NUMBERS.flatMap((words, i) => stemsOf(words).map((stem) => [stem, i + 1] as const)),
)
const ORDINAL_NUMBERS: ReadonlyMap<string, number> = new Map(stemsOf(ORDINALS).map((stem, i) => [stem, i + 1]))

/**
 * `hier` means yesterday in French, but here in German. It is read as a time only if the text contains one of these
 * words.
 */
const FRENCH: ReadonlySet<string> = new Set(stemsOf('je tu il elle nous vous le la les que est ai jai'))

function day(offset: number): TimeWord {
  return { is: 'day', offset }
}

/** What a stem says about time, considering the stems around it. */
export function timeWord(stems: readonly string[], at: number): TimeWord | undefined {
  const stem = stems[at]
  if (stem === undefined) return undefined
  const phrase = PHRASES.get(stem)?.get(stems[at + 1] ?? '')
  if (phrase) return phrase
  if (stem === 'hier' && !stems.some((other) => FRENCH.has(other))) return undefined
  return TIME_WORDS.get(stem)
}

/** `3`, `three`. */
export function cardinal(stem: string | undefined): number | undefined {
  if (stem === undefined) return undefined
  return /^\d{1,4}$/.test(stem) ? Number(stem) : CARDINAL_NUMBERS.get(stem)
}

/** `3`, `3rd`, `third`; for `twenty-third`, the second word. */
export function ordinal(stem: string | undefined): number | undefined {
  if (stem === undefined) return undefined
  const digits = /^(\d{1,2})(?:st|nd|rd|th|er|e)?$/.exec(stem)
  return digits ? Number(digits[1]) : ORDINAL_NUMBERS.get(stem)
}
