import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { z } from 'zod'

export interface CorpusTool {
  readonly name: string
}

/** A question to a tool set, with the names of the tools that answer it. */
export interface CorpusQuery {
  /** `request`, `search`, `step`, `session`. */
  readonly kind: string
  readonly relevant: readonly string[]
  /** One text, or for a session the searches it is made of. */
  readonly texts: readonly string[]
  readonly isSession: boolean
}

export interface Corpus {
  readonly name: string
  readonly tools: readonly CorpusTool[]
  readonly queries: readonly CorpusQuery[]
}

const FLOORS = 'floors.json'
const MIXED_REQUESTS = 120

const toolSchema = z.looseObject({ name: z.string() })
const fileSchema = z.object({
  tools: z.array(toolSchema).optional(),
  /** Another file of the folder, whose tools these are. */
  toolsFrom: z.string().optional(),
  queries: z.array(
    z.object({
      kind: z.string(),
      relevant: z.array(z.string()).min(1),
      q: z.string().optional(),
      searches: z.array(z.string()).optional()
    })
  )
})
type File = z.output<typeof fileSchema>

/** The files of a folder in the order of their names, and last `mixed`: all of them in one (contract §16). */
export async function readCorpora(folder: string): Promise<readonly Corpus[]> {
  const names = (await readdir(folder)).filter(name => name.endsWith('.json') && name !== FLOORS).sort()
  const corpora = await Promise.all(names.map(name => readCorpus(folder, name)))
  return corpora.length === 0 ? [] : [...corpora, mixed(corpora)]
}

async function readCorpus(folder: string, name: string): Promise<Corpus> {
  const file = await readFileOf(folder, name)
  const tools = file.tools ?? (file.toolsFrom && (await readFileOf(folder, basename(file.toolsFrom))).tools)
  if (!tools) throw new Error(`${name} has no tools, of its own or by toolsFrom.`)
  return { name: basename(name, '.json'), tools, queries: file.queries.map(queryOf) }
}

async function readFileOf(folder: string, name: string): Promise<File> {
  const text = await readFile(join(folder, name), 'utf8')
  const parsed = fileSchema.safeParse(JSON.parse(text))
  if (parsed.success) return parsed.data
  throw new Error(`${name} is no file of tool-search cases: ${z.prettifyError(parsed.error)}`)
}

function queryOf({ kind, relevant, q, searches }: File['queries'][number]): CorpusQuery {
  return { kind, relevant, texts: searches ?? [q ?? ''], isSession: searches !== undefined }
}

/** A name met before gets the name of its file in front; long requests are many, so the first of each file are taken. */
function mixed(corpora: readonly Corpus[]): Corpus {
  const seen = new Set<string>()
  const tools: CorpusTool[] = []
  const queries: CorpusQuery[] = []
  for (const corpus of corpora) {
    const renamed = new Map<string, string>()
    for (const tool of corpus.tools) {
      const name = seen.has(tool.name) ? `${corpus.name}__${tool.name}` : tool.name
      seen.add(name)
      renamed.set(tool.name, name)
      tools.push({ ...tool, name })
    }
    let requests = 0
    for (const query of corpus.queries) {
      if (query.kind === 'request' && requests++ >= MIXED_REQUESTS) continue
      queries.push({ ...query, relevant: query.relevant.map(name => renamed.get(name) ?? name) })
    }
  }
  return { name: 'mixed', tools, queries }
}
