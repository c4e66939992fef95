import type * as z from 'zod';
import type { OperationDeclaration } from '#contract/operation.ts';
import { type ErrorDetail, notFound, ServiceError } from '#domain/errors.ts';

/** One problem of the request, in the terms that both families render from. */
interface Problem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly missing: boolean;
  readonly type: string;
}

/** The 422 of Family A: the layout that the name HTTPValidationError stands for. */
export class HttpValidationError extends Error {
  override readonly name = 'HttpValidationError';
  readonly detail: readonly { loc: (string | number)[]; msg: string; type: string }[];
  /** Where a code of the catalogue says what is wrong: it is shown as well (design 2). */
  readonly refusal: ServiceError | undefined;

  constructor(detail: HttpValidationError['detail'], refusal?: ServiceError) {
    super('The request is not valid');
    this.detail = detail;
    this.refusal = refusal;
  }
}

export interface RawInput {
  readonly params: Record<string, string>;
  readonly query: Record<string, string>;
  readonly body: unknown;
}

export interface ValidInput {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/**
 * Checks path, query and body against the operation's schemas; all problems of a part come in one error.
 * @throws ServiceError (Family B) or HttpValidationError (Family A)
 */
export function validate(operation: OperationDeclaration, raw: RawInput): ValidInput {
  const problemsOf = { params: [] as Problem[], query: [] as Problem[], body: [] as Problem[] };
  const check = (part: keyof typeof problemsOf, schema: z.ZodType | undefined, value: unknown): unknown => {
    if (!schema) return undefined;
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    problemsOf[part].push(...result.error.issues.map((issue) => describe(issue, value)));
    return undefined;
  };
  const params = check('params', operation.params, raw.params);
  const query = check('query', operation.query, raw.query);
  const body =
    operation.bodyOptional && (raw.body === undefined || raw.body === null)
      ? undefined
      : check('body', operation.body, raw.body);
  if (operation.family === 'A') refuseAsDetail(problemsOf);
  else refuseWithCode(problemsOf);
  return { params, query, body };
}

function refuseAsDetail(problemsOf: Record<'params' | 'query' | 'body', Problem[]>): void {
  const detail = Object.entries(problemsOf).flatMap(([part, problems]) =>
    problems.map((problem) => ({
      loc: [part === 'params' ? 'path' : part, ...location(problem.path)],
      msg: `${fieldName(problem.path, part)} ${problem.message}`,
      type: problem.missing ? 'missing' : problem.type,
    })),
  );
  if (detail.length > 0) throw new HttpValidationError(detail);
}

function refuseWithCode(problemsOf: Record<'params' | 'query' | 'body', Problem[]>): void {
  // A malformed id in the path is an unknown record (design 2).
  const wrongId = problemsOf.params[0];
  if (wrongId)
    throw notFound(
      String(wrongId.path[0] ?? 'record')
        .replace(/_id$/, '')
        .replaceAll('_', '-'),
    );
  if (problemsOf.query.length > 0) {
    const details = problemsOf.query.map((problem) => toDetail(problem, 'query'));
    throw new ServiceError('invalid_parameter', summary(details), { details });
  }
  if (problemsOf.body.length > 0) {
    const details = problemsOf.body.map((problem) => toDetail(problem, 'body'));
    const code = problemsOf.body.every((problem) => problem.missing) ? 'missing_field' : 'validation_error';
    throw new ServiceError(code, summary(details), { details });
  }
}

function toDetail(problem: Problem, part: string): ErrorDetail {
  const field = fieldName(problem.path, part);
  return { field, message: `${field} ${problem.message}` };
}

function summary(details: readonly ErrorDetail[]): string {
  const more = details.length > 1 ? ` (and ${details.length - 1} more)` : '';
  return `${details[0]?.message ?? 'the request is not valid'}${more}`;
}

function fieldName(path: readonly PropertyKey[], part: string): string {
  return path.length === 0 ? part : location(path).join('.');
}

function location(path: readonly PropertyKey[]): (string | number)[] {
  return path.map((key) => (typeof key === 'number' ? key : String(key)));
}

function describe(issue: z.core.$ZodIssue, value: unknown): Problem {
  const absent = issue.path.length > 0 && valueAt(value, issue.path) === undefined;
  // A rule over several fields may ask for one of them.
  const missing = absent && (issue.code !== 'custom' || issue.message.startsWith('is required'));
  const message = missing && issue.code !== 'custom' ? 'is required' : messageOf(issue, value);
  return { path: issue.path, message, missing, type: issue.code };
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (held, key) =>
      typeof held === 'object' && held !== null ? (held as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );
}

/** What is wrong, to be read after the field's name; the specification's example messages verbatim. */
function messageOf(issue: z.core.$ZodIssue, value: unknown): string {
  switch (issue.code) {
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'invalid_type':
      return issue.path.length === 0 ? 'must be a JSON object' : `must be ${article(issue.expected)}`;
    case 'too_small':
      return tooSmall(issue);
    case 'too_big':
      return issue.origin === 'array'
        ? `must contain at most ${issue.maximum} elements`
        : issue.origin === 'string'
          ? `must have at most ${issue.maximum} characters`
          : `must be at most ${issue.maximum}`;
    case 'invalid_format':
      return formatMessage(issue);
    case 'invalid_union':
      return unionMessage(issue, value);
    case 'unrecognized_keys':
      return `has no field ${issue.keys.join(', ')}`;
    default:
      return issue.message;
  }
}

function tooSmall(issue: z.core.$ZodIssueTooSmall): string {
  if (issue.origin === 'array') {
    const field = String(issue.path.at(-1) ?? 'elements');
    const singular = field.endsWith('_ids') ? 'id' : field.replace(/s$/, '');
    return issue.minimum === 1
      ? `must contain at least one ${singular}`
      : `must contain at least ${issue.minimum} elements`;
  }
  if (issue.origin === 'string')
    return issue.minimum === 1 ? 'must not be empty' : `must have at least ${issue.minimum} characters`;
  return `must be at least ${issue.minimum}`;
}

function formatMessage(issue: z.core.$ZodIssueInvalidStringFormat): string {
  if (issue.format === 'uuid') return 'must be a UUID';
  if (issue.format === 'datetime') return 'must be an ISO 8601 time such as 2026-01-31T12:00:00Z';
  if (issue.format === 'email') return 'must be an e-mail address';
  // Patterns of ours carry a message made to follow the name of the field.
  return issue.message.startsWith('must') ? issue.message : 'has the wrong format';
}

/**
 * A union's branches each have their say; the most telling is the first that is not about the type.
 * Where a field tells them apart, its values are what is allowed.
 */
function unionMessage(issue: z.core.$ZodIssueInvalidUnion, value: unknown): string {
  if (issue.message.startsWith('must')) return issue.message;
  if ('options' in issue && issue.options) return `must be one of ${issue.options.map(String).join(', ')}`;
  const branches = issue.errors.flat();
  const telling = branches.find((branch) => branch.code !== 'invalid_type') ?? branches[0];
  return telling ? messageOf(telling, value) : 'has none of the allowed shapes';
}

function article(type: string): string {
  const named: Record<string, string> = { int: 'a whole number', record: 'an object', null: 'null' };
  return named[type] ?? `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`;
}
