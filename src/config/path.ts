/** A place in the configuration: `['tools', 0, 'name']`. */
export type Path = readonly (string | number)[]

/** `tools[0].endpoint.url`. Keys that are no plain words are quoted. */
export function pathText(path: Path): string {
  return path.map(stepText).join('').replace(/^\./, '')
}

function stepText(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`
  return /^[\w-]+$/.test(step) ? `.${step}` : `.${JSON.stringify(step.slice(0, 80))}`
}
