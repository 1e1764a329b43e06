import type { CaseKind } from '../case-kind.ts'
import { readWireCases, type WireCase } from './case.ts'
import { falsifiedWire } from './falsified.ts'
import { judgeWire } from './judge.ts'
import type { WireObservation } from './observation.ts'
import { groupOfWire, openWire } from './play.ts'

/** Cases of bytes: a fake upstream, a client, and what each must see. */
export const wire: CaseKind<WireCase, WireObservation> = {
  name: 'wire',
  read: readWireCases,
  groupOf: groupOfWire,
  open: openWire,
  judge: judgeWire,
  falsified: falsifiedWire
}
