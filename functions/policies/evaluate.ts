import { timestamp } from '#domain/clock.ts';
import { ServiceError, UnknownReference } from '#domain/errors.ts';
import { findNamedProjects } from '#shared/judging/named-projects.ts';
import { countDecision, decisionOf, documentOf, problemOf, reasonsOf } from '#shared/policy/decision.ts';
import type { PolicySource } from '#shared/policy/kinds.ts';
import { type PolicyError, policyError } from '#shared/policy/problem.ts';
import type { Engine, PolicyTest, PrintedLine, ReactorEvaluation } from '#shared/policy/reactor.ts';
import type { PolicyRunRecord } from '#store/policy-runs.ts';
import { readKind, refusal } from './check-source.ts';
import type { PolicyDependencies } from './dependencies.ts';
import { engineTurn } from './engine-turn.ts';
import { inputsOf } from './evaluation-inputs.ts';
import { sourceOf } from './save-policy.ts';

/** Bytes of results, and as many of what is printed, that one answer holds: half of what Lambda takes. */
const MAX_OUTPUT_BYTES = 1.5 * 1024 * 1024;
const MAX_OUTPUT_BYTES_OF_ONE = 256 * 1024;
/** Milliseconds for one input; what takes longer would never get through an ingest. */
const DEADLINE_MS = 2000;
/** For each further input: 100 of them end below the gateway's 30 s, with the engine's start and tests besides. */
const DEADLINE_MS_MORE = 80;
/** For all rules `test_…` together. */
const TESTS_DEADLINE_MS = 5000;
export interface Evaluation {
  readonly decision: unknown;
  readonly result: unknown;
  readonly reasons: string[];
  readonly output: PrintedLine[];
  readonly policy_id: string | null;
  readonly version: number | null;
  readonly duration_ms: number;
  readonly finding_id: string | null;
  /** Of the evaluation. */
  readonly failures: readonly PolicyError[];
  /** Of what it decided: judged by, it would be an error. */
  readonly unusable: PolicyError | null;
}

interface Request {
  readonly policy_id?: string | undefined;
  readonly kind?: string | undefined;
  readonly rego?: string | undefined;
  readonly input?: object | undefined;
  readonly finding_ids?: readonly string[] | undefined;
}

interface Subject extends PolicySource {
  /** Of a stored policy. */
  readonly stored: { readonly id: string; readonly version: number } | null;
}

export interface Evaluated {
  readonly subject: Subject;
  readonly evaluations: Evaluation[];
  readonly tests: PolicyTest[];
  readonly durationMs: number;
}

/**
 * What a policy says of an input or of findings. OPA itself evaluates, because it tells what a policy printed
 * and where it failed; a stored policy's evaluation is one of its runs.
 * @param trigger `test`: the source's rules `test_…` are run as well
 * @throws ServiceError of a source that is wrong; and of a single input whose evaluation failed. A decision that its
 * kind can't use is shown, with why
 */
export async function evaluate(
  orgId: string,
  request: Request,
  trigger: 'evaluate' | 'test',
  dependencies: PolicyDependencies,
): Promise<Evaluated> {
  const subject = await subjectOf(orgId, request, dependencies);
  const { finding_ids, input } = request;
  const inputs = finding_ids
    ? await inputsOf(orgId, finding_ids, dependencies)
    : input === undefined
      ? []
      : [input];
  const startedAt = dependencies.clock.now();
  const turn = engineTurn(orgId);
  const engine = dependencies.reactor.onBehalfOf(turn);
  // Neither the engine's start nor others' turns are part of what the policy takes.
  await engine.about();
  const began = performance.now() - turn.waitedMs;
  const elapsed = () => rounded(performance.now() - began - turn.waitedMs);
  const raw = await runAll(subject, inputs, engine);
  const evaluationMs = elapsed();
  const { tests, errors } =
    trigger === 'test'
      ? await engine.runTests(subject, { deadlineMs: TESTS_DEADLINE_MS })
      : { tests: [], errors: [] };
  const durationMs = elapsed();
  const read = raw.map((evaluation, index) =>
    readEvaluation(evaluation, subject, {
      finding_id: finding_ids?.[index] ?? null,
      duration_ms: rounded(evaluationMs / raw.length),
    }),
  );
  const evaluations = subject.kind === 'project' ? await withKnownProjects(orgId, read, dependencies) : read;
  const evaluated = { subject, evaluations, tests, durationMs };
  await recordRun(orgId, evaluated, errors, trigger, startedAt, dependencies);
  const failures = (finding_ids === undefined && evaluations[0]?.failures) || [];
  if (failures.length + errors.length > 0) throw refusal([...failures, ...errors]);
  return evaluated;
}

async function subjectOf(
  orgId: string,
  { policy_id, kind, rego }: Request,
  dependencies: PolicyDependencies,
): Promise<Subject> {
  if (policy_id === undefined) return { kind: readKind(kind ?? ''), rego: rego ?? '', stored: null };
  const record = await dependencies.policies.require(orgId, policy_id).catch((error: unknown) => {
    const unknown = error instanceof ServiceError && error.code === 'not_found';
    throw unknown ? new UnknownReference('policy_id', 'policy') : error;
  });
  return {
    kind: record.kind,
    rego: await sourceOf(orgId, record, dependencies),
    stored: { id: record.id, version: record.version },
  };
}

/** @throws ServiceError of a source that is wrong: that is no failure of one input */
async function runAll(
  subject: Subject,
  inputs: readonly unknown[],
  engine: Engine,
): Promise<ReactorEvaluation[]> {
  if (inputs.length === 0) return [];
  const outputBytes = Math.min(MAX_OUTPUT_BYTES_OF_ONE, Math.floor(MAX_OUTPUT_BYTES / inputs.length));
  const deadlineMs = DEADLINE_MS + DEADLINE_MS_MORE * (inputs.length - 1);
  const evaluations = await engine.evaluate(subject, inputs, { deadlineMs, outputBytes });
  const ofSource = evaluations[0]?.errors.filter(({ code }) => isOfSource(code)) ?? [];
  if (ofSource.length > 0) throw refusal(ofSource);
  return evaluations;
}

function isOfSource(code: PolicyError['code']): boolean {
  return code !== 'policy_conflict' && code !== 'policy_evaluation_error';
}

function readEvaluation(
  { result, errors, output }: ReactorEvaluation,
  { kind, stored }: Subject,
  about: Pick<Evaluation, 'finding_id' | 'duration_ms'>,
): Evaluation {
  const decision = decisionOf(kind, result);
  const unusable = problemOf(kind, decision);
  return {
    decision,
    result: result ?? null,
    reasons: reasonsOf(documentOf(result)),
    output: [...output],
    policy_id: stored?.id ?? null,
    version: stored?.version ?? null,
    ...about,
    failures: errors,
    unusable: unusable === null ? null : policyError({ code: 'unusable_decision', message: unusable }),
  };
}

/** A project that there is none of is no decision either. */
async function withKnownProjects(
  orgId: string,
  evaluations: readonly Evaluation[],
  { projects }: PolicyDependencies,
): Promise<Evaluation[]> {
  const find = findNamedProjects(orgId, projects);
  return Promise.all(
    evaluations.map(async (evaluation) => {
      const { decision, unusable } = evaluation;
      if (unusable || typeof decision !== 'string') return evaluation;
      const found = await find(decision);
      if ('route' in found) return evaluation;
      return {
        ...evaluation,
        unusable: policyError({ code: 'unusable_decision', message: found.problem }),
      };
    }),
  );
}

/** Why an evaluation decides nothing; null where it does. */
export function errorOf({ failures, unusable }: Evaluation): PolicyError | null {
  return failures[0] ?? unusable;
}

async function recordRun(
  orgId: string,
  { subject, evaluations, tests, durationMs }: Evaluated,
  errors: readonly PolicyError[],
  trigger: PolicyRunRecord['trigger'],
  startedAt: number,
  { runs, ids }: PolicyDependencies,
): Promise<void> {
  if (!subject.stored) return;
  const failed = [...evaluations.flatMap((one) => errorOf(one) ?? []), ...errors.slice(0, 1)];
  const [first] = failed;
  const passed = tests.filter(({ outcome }) => outcome === 'pass').length;
  await runs.record(orgId, {
    id: ids.next(),
    policy_id: subject.stored.id,
    version: subject.stored.version,
    trigger,
    started_at: timestamp(startedAt),
    duration_ms: durationMs,
    evaluated: evaluations.length,
    decisions: countDecisions(evaluations),
    errors: failed.length,
    error: first ? { code: first.code, message: first.message.slice(0, 500) } : null,
    tests: trigger === 'test' ? { passed, failed: tests.length - passed } : null,
  });
}

function countDecisions(evaluations: readonly Evaluation[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const evaluation of evaluations)
    if (errorOf(evaluation) === null) countDecision(counts, evaluation.decision);
  return Object.fromEntries(counts);
}

function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
