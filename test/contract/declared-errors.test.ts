import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ErrorCode } from '#contract/errors.ts';
import { operations } from '#contract/index.ts';
import { errorsOf, type Operation, statusOf } from '#contract/operation.ts';
import { type RawAnswer, request } from '#test/harness/http.ts';
import { type Declarations, readDeclarations, told } from './declared-answers.ts';
import { ask, askUnderFault, GENERAL, STORE_FAULTS, wrongQuery } from './general-provocations.ts';
import { LEFT_OUT } from './left-out.ts';
import { SPECIFIC } from './provocations.ts';
import { RACES, raceUntilConflict } from './races.ts';
import { askAmongRivals, RIVALS } from './rivals.ts';
import { type Stage, setStage } from './stage.ts';

let stage: Stage;
let declarations: Declarations;
/** By code and operation: answers to what takes its time, asked for side by side. */
const beforehand = new Map<ErrorCode, ReadonlyMap<string, RawAnswer>>();
const covered = { provoked: 0, leftOut: 0, answers: 0 };

beforeAll(async () => {
  [stage, declarations] = await Promise.all([setStage(), readDeclarations()]);
  for (const [code, fault] of Object.entries(STORE_FAULTS))
    beforehand.set(code as ErrorCode, await askUnderFault(operations, fault, stage));
  beforehand.set('conflict', await askAmongRivals(stage));
});
afterAll(async () => {
  await stage?.door.stop();
  console.log(
    `declared errors: ${covered.provoked} provoked, ${covered.leftOut} left out; ${covered.answers} answers held against the document`,
  );
});

/** The answers to what provokes a code, of which one has it; null where nothing here does. */
async function provoke(operation: Operation, code: ErrorCode): Promise<readonly RawAnswer[] | null> {
  const { org } = stage;
  const race = code === 'conflict' ? RACES[operation.id] : undefined;
  if (race) return raceUntilConflict(race, org);
  const specific = SPECIFIC[operation.id]?.[code];
  if (specific) return [await specific(org)];
  const answer = beforehand.get(code)?.get(operation.id) ?? (await GENERAL[code]?.(operation, stage));
  return answer ? [answer] : null;
}

/** What is wrong with what an operation answers where it should give a code. */
async function wrongWith(operation: Operation, code: ErrorCode): Promise<string[]> {
  const answers = await provoke(operation, code);
  if (!answers) return [`${operation.id} declares ${code}, and nothing provokes it`];
  covered.provoked += 1;
  covered.answers += answers.length;
  const given = answers.some(
    ({ status, body }) => status === statusOf(operation, code) && body.error?.code === code,
  );
  return [
    ...(given ? [] : [`${operation.id} does not give ${code}: ${answers.slice(-3).map(told).join('; ')}`]),
    ...answers.flatMap((answer) => declarations.complaintsOf(operation, answer)),
  ];
}

/**
 * Every error that an operation declares, provoked, and its answer held against the document: the general
 * ones the same way for all operations, those of parallel requests by racing, the rest by hand. What
 * nothing provokes fails, unless it is left out with a reason.
 */
describe('declared errors', () => {
  it.each(operations.map((operation) => [operation.id, operation] as const))(
    '%s gives each of its own',
    async (id, operation) => {
      const wrong: string[] = [];
      for (const code of errorsOf(operation)) {
        if (LEFT_OUT[id]?.[code]) covered.leftOut += 1;
        else wrong.push(...(await wrongWith(operation, code)));
      }
      expect(wrong).toEqual([]);
    },
  );

  it('are provoked and left out where they are declared, and nowhere else', () => {
    const declared = new Map(operations.map((operation) => [operation.id, errorsOf(operation)]));
    for (const of of [SPECIFIC, LEFT_OUT])
      for (const [id, codes] of Object.entries(of)) {
        expect(declared.get(id), id).toEqual(expect.arrayContaining(Object.keys(codes)));
      }
    for (const id of [...Object.keys(RACES), ...Object.keys(RIVALS)])
      expect(declared.get(id), id).toContain('conflict');
  });

  it.each(
    operations
      .filter(({ family, params, query, body }) => family === 'A' && (params || query || body))
      .map((operation) => [operation.id, operation] as const),
  )('%s answers what is not valid with HTTPValidationError', async (_, operation) => {
    const answer = await askWrongly(operation, stage);
    expect([answer.status, Array.isArray(answer.body.detail)], told(answer)).toEqual([422, true]);
    expect(declarations.complaintsOf(operation, answer)).toEqual([]);
  });
});

/** With a body, a query or a path that is not valid: whichever the operation has. */
function askWrongly(operation: Operation, { org }: Stage): Promise<RawAnswer> {
  const key = org.accessToken;
  const query = wrongQuery(operation);
  if (operation.body) return ask(operation, { orgId: org.orgId, key, text: '[' });
  if (query !== null) return ask(operation, { orgId: org.orgId, key, query });
  const named = /\{(?!org_id\})\w+\}/.test(operation.path);
  const path = operation.path.replace('{org_id}', named ? org.orgId : 'x').replace(/\{\w+\}/g, 'x');
  return request(operation.method, path, { key });
}
