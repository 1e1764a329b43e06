import { registerHooks } from 'node:module'

/** What a plugin may import wherever it lies: the gateway that runs it, and the zod of that gateway. */
const OURS = new Map([
  ['loopgate', import.meta.resolve('loopgate')],
  ['zod', import.meta.resolve('zod')]
])

let isOpen = false

/** Lets modules outside this package import `loopgate` and `zod`. What they have installed themselves comes first. */
export function openPluginImports(): void {
  if (isOpen) return
  isOpen = true
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const own = OURS.get(specifier)
      if (own === undefined) return nextResolve(specifier, context)
      try {
        return nextResolve(specifier, context)
      } catch {
        return nextResolve(own, context)
      }
    }
  })
}
