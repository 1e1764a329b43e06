import type { CaseKind } from '../case-kind.ts'
import { falsifiedLoop, uncompared } from './falsified.ts'
import { judgeLoop } from './judge.ts'
import type { LoopObservation } from './observation.ts'
import { groupOfLoop, openLoop } from './play.ts'
import { type ReadCase, readLoopCases } from './read.ts'

/** Cases of whole conversations: a scripted model, scripted tools, and what became of each turn. */
export const loop: CaseKind<ReadCase, LoopObservation> = {
  name: 'loop',
  read: readLoopCases,
  groupOf: groupOfLoop,
  open: openLoop,
  judge: judgeLoop,
  falsified: falsifiedLoop,
  uncompared
}
