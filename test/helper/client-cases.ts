/** What every client must get right: the same questions, asked as a call and as a stream. */
export interface ClientCase {
  readonly name: string
  readonly question: string
  readonly loopgate: Readonly<Record<string, unknown>>
  /** What the answer must contain. */
  readonly answer: string
  readonly rounds: number
  /** Tools that were really called, in order. */
  readonly called: readonly string[]
}

export const clientCases: readonly ClientCase[] = [
  {
    name: 'plain',
    question: 'Hello there',
    loopgate: { tools: [] },
    answer: 'You said: Hello there',
    rounds: 1,
    called: []
  },
  {
    name: 'one tool',
    question: 'What is the weather in Paris?',
    loopgate: { tools: ['get_weather'], tool_search: 'off' },
    answer: '{"celsius":21}',
    rounds: 2,
    called: ['get_weather']
  },
  {
    name: 'three rounds with search',
    question: 'How many units of article BX-1 are in the warehouse?',
    loopgate: { tool_search: 'on' },
    answer: '{"units":17}',
    rounds: 3,
    called: ['stock_level']
  }
]

/** What a client got. */
export interface ClientAnswer {
  readonly text: string
  readonly finish: string
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly total_tokens: number }
  /** `loopgate` of the answer, asked for by `include: ["rounds"]`. */
  readonly loopgate: {
    readonly rounds: number
    readonly round_list: readonly { readonly usage: ClientAnswer['usage'] }[]
  }
}
