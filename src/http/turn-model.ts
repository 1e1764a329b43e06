import type { Fields } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import { matchesGlob } from '../core/glob.ts'
import type { Target } from '../core/models.ts'
import { outputFormat } from '../core/output-format.ts'
import type { Principal } from '../core/principal.ts'
import type { TurnOptions } from './turn-options.ts'
import type { TurnServices } from './turn-services.ts'

export interface AskedModel {
  /** The client's name for it, or the default. */
  readonly name: string
  readonly target: Target
}

/** The model a request is for. Throws `model_not_allowed` before `model_not_found`: a key learns of no other models. */
export function modelOf({ models, config }: TurnServices, principal: Principal, asked: string | undefined): AskedModel {
  const name = asked ?? config.default_model
  if (!matchesGlob(name, principal.models)) {
    throw new GatewayError('model_not_allowed', `This key may not use the model ${name}.`, { param: 'model' })
  }
  const target = models.resolve(name)
  if (target) return { name, target }
  throw new GatewayError('model_not_found', `There is no model ${name}; GET /v1/models lists those there are.`, {
    param: 'model'
  })
}

/** The parameters of a request; a script for the simulator rides in them, and no other provider sends it on. */
export function paramsOf(services: TurnServices, model: AskedModel, { script }: TurnOptions, asked: Fields): Fields {
  // The same field sent by a client is no way round the checks below.
  const params = 'loopgate_script' in asked ? withoutScript(asked) : asked
  if (script === undefined) return params
  const param = 'loopgate.script'
  if (!services.allowScript) {
    throw new GatewayError('unsupported_parameter', 'Scripts are switched off here (sim.allow_script).', { param })
  }
  if (model.target.model !== 'sim-script') {
    throw new GatewayError('invalid_request', 'loopgate.script is for the model sim-script.', { param })
  }
  return { ...params, loopgate_script: script }
}

function withoutScript({ loopgate_script: _sent, ...others }: Fields): Fields {
  return others
}

/** Will the answer be checked against a format? Throws `invalid_request` for a format that cannot be used. */
export function isOutputJudged({ judgeOutput }: TurnServices, params: Fields): boolean {
  const format = judgeOutput && outputFormat(params)
  if (format === undefined) return false
  judgeOutput?.(format)
  return true
}

/**
 * Several choices have no meaning in a loop on the server (W13), nor where one answer is checked, and only providers of
 * kind openai make them.
 */
export function refuseManyChoices(
  { n }: Fields,
  { name, target }: AskedModel,
  { gatewayTools, isJudged }: { readonly gatewayTools: number; readonly isJudged: boolean }
): void {
  if (typeof n !== 'number' || n <= 1) return
  const { kind = 'openai' } = target
  if (kind !== 'openai') throw mustBeOne(`for the model ${name}: its provider is of kind ${kind}`)
  if (isJudged) throw mustBeOne('with a response_format of JSON, which answers are checked against')
  if (gatewayTools > 0) throw mustBeOne('while gateway tools are offered; loopgate.tools: [] offers none')
}

function mustBeOne(why: string): GatewayError {
  return new GatewayError('invalid_request', `n must be 1 ${why}.`, { param: 'n' })
}
