import * as z from 'zod';
import { fromOpaque, ID_PREFIXES } from '#domain/ids.ts';
import { SCOPES, type Scope } from '#domain/vocabulary.ts';
import { POLICY_KINDS } from '#shared/policy/kinds.ts';
import { clearableText, opaqueId, opaqueIdInput, Timestamp, text, Uuid } from './common.ts';

/** The engine takes no longer ones either. */
const MAX_REGO_CHARACTERS = 100_000;
/** Findings that one call evaluates. */
const MAX_FINDINGS = 100;

const EXAMPLE = `package svc.triage

import rego.v1

default decision := "accept"

decision := "reject" if input.finding.epss_score < 0.01
`;

const Rego = z.string().min(1).max(MAX_REGO_CHARACTERS).meta({ example: EXAMPLE });

/** Any text: a wrong kind has a code of its own, which the operation gives. */
const Kind = z
  .string()
  .max(100)
  .meta({ enum: [...POLICY_KINDS] });

/** Of a policy, or of a scan: the UUID behind an id as the family shows it. */
type ReadTarget = (scope: Exclude<Scope, 'organization'>, target: string) => { id: string | null };

const FAMILIES = {
  A: {
    policyId: Uuid,
    findingId: Uuid,
    problem: () => 'must be a UUID',
    readTarget: ((_, target) => ({ id: Uuid.safeParse(target).data ?? null })) satisfies ReadTarget,
  },
  B: {
    policyId: opaqueIdInput('policy'),
    findingId: opaqueIdInput('finding'),
    problem: (scope: Exclude<Scope, 'organization'>) =>
      `must be an identifier of the shape ${ID_PREFIXES[scope]}_<id>`,
    readTarget: ((scope, target) => ({ id: fromOpaque(scope, target) })) satisfies ReadTarget,
  },
} as const;
type Family = keyof typeof FAMILIES;

interface ScopeInput {
  readonly scope?: Scope | undefined;
  readonly scope_target_id?: string | null | undefined;
}

/** What is wrong with a scope's target, to be read after the field's name; or its UUID. */
function readTarget(family: Family, scope: Scope, target: string | null) {
  if (scope === 'organization')
    return target === null
      ? { id: null, problem: null }
      : { id: null, problem: 'must be absent for the scope organization' };
  if (target === null) return { id: null, problem: `is required for the scope ${scope}` };
  const { id } = FAMILIES[family].readTarget(scope, target);
  return { id, problem: id === null ? FAMILIES[family].problem(scope) : null };
}

/** A scope with its target checked; `undefined` where a change leaves it alone. */
function readScope<T extends ScopeInput>(family: Family) {
  return (
    { scope, scope_target_id, ...rest }: T,
    context: z.core.$RefinementCtx,
  ): Omit<T, 'scope' | 'scope_target_id'> & { place: PolicyPlace | undefined } => {
    const refuse = (field: string, message: string) => {
      context.issues.push({ code: 'custom', path: [field], input: scope_target_id, message });
      return z.NEVER;
    };
    if (scope === undefined)
      return scope_target_id == null
        ? { ...rest, place: undefined }
        : refuse('scope', 'is required where there is a scope_target_id');
    const { id, problem } = readTarget(family, scope, scope_target_id ?? null);
    if (problem !== null) return refuse('scope_target_id', problem);
    return { ...rest, place: { scope, scope_target_id: id } };
  };
}

/** Where a policy applies: everywhere, or in one project or asset (a UUID). */
export interface PolicyPlace {
  readonly scope: Scope;
  readonly scope_target_id: string | null;
}

const common = {
  description: clearableText(2000),
  message: clearableText(500),
};
const target = z.string().max(100).nullish();

function policyCreate(family: Family) {
  return z
    .object({
      name: text(100),
      kind: Kind,
      rego: Rego,
      scope: z.enum(SCOPES).default('organization'),
      scope_target_id: target,
      ...common,
    })
    .transform(readScope(family));
}

function policyUpdate(family: Family) {
  return z
    .object({
      name: text(100).optional(),
      kind: Kind.optional(),
      rego: Rego.optional(),
      scope: z.enum(SCOPES).optional(),
      scope_target_id: target,
      ...common,
    })
    .transform(readScope(family));
}

export const PolicyCreate = policyCreate('B');
export const OpenPolicyCreate = policyCreate('A');
export const PolicyUpdate = policyUpdate('B');
export const OpenPolicyUpdate = policyUpdate('A');
export const PolicyScope = z
  .object({ scope: z.enum(SCOPES), scope_target_id: target, message: common.message })
  .transform(readScope('B'));

/** A stored policy or an inline one, and an input or real findings to judge. */
function evaluationOf(family: Family) {
  const { policyId, findingId } = FAMILIES[family];
  return z
    .object({
      policy_id: policyId.optional(),
      kind: Kind.optional(),
      rego: Rego.optional(),
      input: z.record(z.string(), z.unknown()).optional(),
      finding_ids: z.array(findingId).min(1).max(MAX_FINDINGS).optional(),
    })
    .superRefine(({ policy_id, kind, rego, input, finding_ids }, context) => {
      const refuse = (field: string, message: string) =>
        context.addIssue({ code: 'custom', path: [field], message });
      if (policy_id !== undefined && (kind !== undefined || rego !== undefined))
        refuse('policy_id', 'must be absent where there is kind or rego');
      if (policy_id === undefined && kind === undefined && rego === undefined)
        refuse('policy_id', 'is required unless there are kind and rego');
      else if (policy_id === undefined && kind === undefined) refuse('kind', 'is required with rego');
      else if (policy_id === undefined && rego === undefined) refuse('rego', 'is required with kind');
      if (input === undefined && finding_ids === undefined)
        refuse('input', 'is required unless there are finding_ids');
      if (input !== undefined && finding_ids !== undefined)
        refuse('input', 'must be absent where there are finding_ids');
    });
}
export const PolicyEvaluate = evaluationOf('B').meta({ id: 'PolicyEvaluateRequest' });
export const InlineTestRequest = evaluationOf('A').meta({ id: 'InlineTestRequest' });

export const PolicyTestRequest = z
  .object({
    input: z.record(z.string(), z.unknown()).optional(),
    finding_ids: z.array(Uuid).min(1).max(MAX_FINDINGS).optional(),
  })
  .superRefine(({ input, finding_ids }, context) => {
    if (input !== undefined && finding_ids !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['input'],
        message: 'must be absent where there are finding_ids',
      });
  })
  .meta({ id: 'PolicyTestRequest' });

// What goes out.

/** In the source, from 1; null where it is of no line. */
const place = z.int().min(1).nullable();

/** Something to say of a source. `suggestion`: the corrected line, or what to do. */
const Remark = z
  .object({
    code: z.string(),
    field: z.string(),
    message: z.string(),
    row: place,
    col: place,
    suggestion: z.string().nullable(),
  })
  .meta({ id: 'PolicyRemark' });

function policy(id: z.ZodType<string>, targetId: z.ZodType<string>) {
  return z.object({
    id,
    name: z.string(),
    description: z.string().nullable(),
    kind: z.enum(POLICY_KINDS),
    scope: z.enum(SCOPES),
    scope_target_id: targetId.nullable(),
    active: z.boolean(),
    rego: z.string(),
    version: z.int().min(1),
    created_at: Timestamp,
    updated_at: Timestamp,
  });
}
const targetId = z.union([opaqueId('project'), opaqueId('asset')]);
export const Policy = policy(opaqueId('policy'), targetId).meta({ id: 'Policy' });
export const OpenPolicyRead = policy(Uuid, Uuid).meta({ id: 'OpenPolicyRead' });
/** What a save answers: what the source could have better, which refuses nothing. */
const warnings = z.array(Remark);
export const PolicySaved = z.object({ ...Policy.shape, warnings }).meta({ id: 'PolicySaved' });
export const OpenPolicySaved = z
  .object({ ...OpenPolicyRead.shape, warnings })
  .meta({ id: 'OpenPolicySaved' });

const PolicyVersion = z
  .object({
    version: z.int().min(1),
    created_at: Timestamp,
    author: z.string(),
    message: z.string().nullable(),
    active: z.boolean(),
  })
  .meta({ id: 'PolicyVersion' });
export const PolicyVersions = z.object({ versions: z.array(PolicyVersion) }).meta({ id: 'PolicyVersions' });
export const PolicyVersionDetail = z
  .object({
    ...PolicyVersion.shape,
    kind: z.enum(POLICY_KINDS),
    scope: z.enum(SCOPES),
    scope_target_id: targetId.nullable(),
    rego: z.string(),
  })
  .meta({ id: 'PolicyVersionDetail' });

/** Named as it is shown: `01` is no version. */
export const VersionNumber = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, 'must be a version number')
  .transform(Number)
  .meta({ type: 'integer', description: 'Number of the version', minimum: 1, maximum: 999_999_999 });

/** A line that the policy printed. */
const Printed = z.object({ row: z.int().min(0), text: z.string() });
const Failure = z.object({ code: z.string(), message: z.string(), row: place, col: place });

function evaluation(policyId: z.ZodType<string>, findingId: z.ZodType<string>) {
  return z.object({
    /** What the kind's own rule says (`decision`, `priority`, `owner`, `project`); null: nothing. */
    decision: z.unknown(),
    /** The whole package document; null where nothing in it is defined. */
    result: z.unknown(),
    reasons: z.array(z.string()),
    output: z.array(Printed),
    policy_id: policyId.nullable(),
    version: z.int().nullable(),
    duration_ms: z.number().min(0),
    finding_id: findingId.nullable(),
    /**
     * Why the answer is of no use: a decision that its kind can't use; of one finding among several, also an
     * evaluation that failed, which for a single input is the response's own error.
     */
    error: Failure.nullable(),
  });
}
const Evaluation = evaluation(opaqueId('policy'), opaqueId('finding')).meta({ id: 'PolicyEvaluation' });
const OpenEvaluation = evaluation(Uuid, Uuid).meta({ id: 'OpenPolicyEvaluation' });

/** One evaluation for an input, a list for findings. */
export const PolicyEvaluated = z.union([
  Evaluation,
  z.object({
    data: z.array(Evaluation),
    pagination: z.object({ page: z.int(), per_page: z.int(), total: z.int() }),
  }),
]);

/** A rule `test_…` of the source. */
const RuleTest = z
  .object({
    name: z.string(),
    row: z.int().min(1),
    outcome: z.enum(['pass', 'fail', 'error']),
    duration_ms: z.number().min(0),
    output: z.array(Printed),
    errors: z.array(Failure),
  })
  .meta({ id: 'PolicyRuleTest' });
const tests = z.array(RuleTest);
const OneTested = z.object({ ...OpenEvaluation.shape, tests });

export const InlineTested = z.union([OneTested, z.array(OpenEvaluation)]);
/** Of one input, of several findings, or of the rules `test_…` alone. */
export const PolicyTested = z.union([
  OneTested,
  z.object({
    policy_id: Uuid,
    version: z.int(),
    duration_ms: z.number().min(0),
    results: z.array(OpenEvaluation),
    tests,
  }),
]);

export const PolicyValidated = z
  .object({ valid: z.boolean(), errors: z.array(Remark), warnings: z.array(Remark) })
  .meta({ id: 'PolicyValidated' });

// Spec silent: what makes a policy run.
export const POLICY_RUN_TRIGGERS = ['evaluate', 'test', 'ingest', 'change'] as const;

export const PolicyRun = z
  .object({
    id: Uuid,
    policy_id: Uuid,
    version: z.int().min(1),
    trigger: z.enum(POLICY_RUN_TRIGGERS),
    started_at: Timestamp,
    duration_ms: z.number().min(0),
    evaluated: z.int().min(0),
    /** How often each was decided; `none` where the policy said nothing. */
    decisions: z.record(z.string(), z.int().min(0)),
    errors: z.int().min(0),
    /** The first of them. */
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    /** Rules `test_…`, where they were run. */
    tests: z.object({ passed: z.int().min(0), failed: z.int().min(0) }).nullable(),
  })
  .meta({ id: 'PolicyRun' });
