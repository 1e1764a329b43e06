/** A wire case as its file says it; the README beside the cases has the meaning of each field. */
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Fields } from '../fields.ts'

export interface WireCase {
  readonly id: string
  readonly provider: 'openai' | 'anthropic'
  readonly clientRequest: {
    readonly method: string
    readonly path: string
    readonly headers?: Readonly<Record<string, string>>
    readonly body: Fields
  }
  readonly clientAction?: ClientAction
  readonly gatewayTools?: readonly GatewayTool[]
  readonly gatewayConfig?: Fields
  readonly upstreamStatus?: number
  readonly upstreamHeaders?: Readonly<Record<string, string>>
  readonly upstreamChunks?: readonly Chunk[]
  readonly upstreamEnd?: End
  readonly upstreamNext?: readonly UpstreamAnswer[]
  readonly expect: Fields
}

export interface ClientAction {
  readonly disconnectAfterMs?: number
  readonly disconnectAfterText?: string
  /** Reads the head and nothing after it, until the upstream is done or stands still. */
  readonly neverRead?: boolean
  /** The same for this long. */
  readonly neverReadMs?: number
}

export interface GatewayTool {
  readonly name: string
  readonly description?: string
  readonly parameters: Fields
  readonly result: {
    readonly status: number
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: unknown
    readonly delayMs?: number
    readonly bodyRepeat?: { readonly text: string; readonly times: number }
  }
}

/** One write. */
export interface Chunk {
  readonly text?: string
  readonly b64?: string
  /** ms */
  readonly wait?: number
  readonly repeat?: number
  /** Bytes a write. */
  readonly splitEvery?: number
  /** Marker in the text, `{{path}}`, replaced by what stands there in the request that came in. */
  readonly template?: string
}

export type End = 'clean' | 'hang' | 'reset'

export interface UpstreamAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly chunks: readonly Chunk[]
  readonly end: End
}

/** All answers of the fake upstream, in order. None when the case says of none. */
export function answersOf(one: WireCase): readonly UpstreamAnswer[] {
  if (one.upstreamStatus === undefined && one.upstreamChunks === undefined) return one.upstreamNext ?? []
  const first = {
    status: one.upstreamStatus ?? 200,
    headers: one.upstreamHeaders ?? {},
    chunks: one.upstreamChunks ?? [],
    end: one.upstreamEnd ?? 'clean'
  }
  return [first, ...(one.upstreamNext ?? [])]
}

/** The cases of a folder: every file whose name begins with a number. */
export async function readWireCases(folder: string): Promise<readonly WireCase[]> {
  const names = (await readdir(folder)).filter(name => /^\d+.*\.json$/.test(name)).sort()
  return Promise.all(
    names.map(async name => {
      const one = JSON.parse(await readFile(join(folder, name), 'utf8')) as WireCase
      return { ...one, id: basename(name, '.json') }
    })
  )
}
