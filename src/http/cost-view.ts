/** `cost_usd` of some micro-dollars together; left out where none of them is known. */
export function costView(...micros: readonly (number | undefined)[]): { readonly cost_usd?: number } {
  const known = micros.filter(each => each !== undefined)
  return known.length === 0 ? {} : { cost_usd: known.reduce((sum, each) => sum + each, 0) / 1_000_000 }
}
