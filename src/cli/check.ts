import { ConfigError } from '../config/config-error.ts'
import { effectiveYaml } from '../config/effective.ts'
import { loadPlugins } from '../config/load-plugins.ts'
import { readConfig } from '../config/read.ts'
import { optionsOf } from './options.ts'
import type { Output } from './output.ts'
import { UsageError } from './usage-error.ts'

/** `loopgate check`: 0 and the effective configuration, or 1 and everything that is wrong. */
export async function check(args: readonly string[], { out, err }: Output): Promise<number> {
  const { values, positionals } = optionsOf('check', args, { config: { type: 'string' } })
  if (positionals.length > 0) {
    throw new UsageError(`check takes no word such as ${positionals[0]}; name the file with --config.`, 'check')
  }
  try {
    const reading = readConfig({ path: values.config })
    await loadPlugins(reading)
    const { config, mode, source } = reading
    const origin = source ?? 'no file: demo mode'
    const access = mode.development
      ? 'development mode: no key is needed, only this machine is served'
      : 'keys are asked for'
    out(`# effective configuration (${origin}); ${config.auth.mode === 'none' ? 'anybody may chat' : access}\n`)
    out(effectiveYaml(config))
    return 0
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    err(`${error.message}\n`)
    return 1
  }
}
