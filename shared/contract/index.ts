import type { Operation, OperationDeclaration, OperationGroup } from './operation.ts';
import { apiKeys } from './operations/api-keys.ts';
import { assets } from './operations/assets.ts';
import { auth } from './operations/auth.ts';
import { exports_ } from './operations/exports.ts';
import { findings } from './operations/findings.ts';
import { imports } from './operations/imports.ts';
import { integrations } from './operations/integrations.ts';
import { organizations } from './operations/organizations.ts';
import { policies } from './operations/policies.ts';
import { projects } from './operations/projects.ts';
import { reference } from './operations/reference.ts';
import { runnerGate } from './operations/runner-gate.ts';
import { scans } from './operations/scans.ts';

/** Every group of operations: one function each. */
const groups = [
  auth,
  organizations,
  apiKeys,
  projects,
  assets,
  integrations,
  scans,
  findings,
  imports,
  policies,
  exports_,
  runnerGate,
  reference,
] as const;

/** Every operation that works today; nothing is declared before it does. */
export const operations: readonly Operation[] = groups.flatMap((group) => listOperations(group));

/** A group's operations with their ids. */
export function listOperations(group: OperationGroup<Record<string, OperationDeclaration>>): Operation[] {
  return Object.entries(group.operations).map(([id, declaration]) => ({
    ...declaration,
    id,
    group: group.name,
  }));
}
