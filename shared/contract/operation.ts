import * as z from 'zod';
import type { PermissionScope } from '#domain/vocabulary.ts';
import { ERRORS, type ErrorCode } from './errors.ts';

/** What a caller needs: a scope, any credential, a signed-in user, or nothing. */
export type Permission = PermissionScope | 'signed-in' | 'signed-in-user' | 'public';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** A body that is taken as it is. */
export interface Upload {
  readonly description: string;
  /** As sent: the platform's own limit is 6 MB with Base64 (data model, "Traps"). */
  readonly maximumBytes: number;
  readonly contentTypes: readonly string[];
  /** What the reference shows for those types that are JSON. */
  readonly example: unknown;
  /** What a caller with more than that does, for the refusal. */
  readonly wayOut: string;
}

/**
 * One operation of the API, declared once: the router, the gateway's routes, the OpenAPI
 * document, the typed client and the contract tests all come from this.
 */
export interface OperationDeclaration {
  /** A: org-scoped, UUIDs, bare arrays, 422 `detail`. B: flat, opaque ids, envelopes, 400 codes. */
  readonly family: 'A' | 'B';
  readonly method: Method;
  /** As the specification writes it, trailing slash included. */
  readonly path: `/api/${string}`;
  readonly summary: string;
  readonly permission: Permission;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The body may be absent or null; the operation then sees `undefined`. */
  readonly bodyOptional?: true;
  /** The body is a file as it is, in place of JSON of a schema. */
  readonly upload?: Upload;
  readonly response: { readonly status: 200 | 201 | 202; readonly schema: z.ZodType };
  /** Codes of its own; those that any operation can give are in `errorsOf`. */
  readonly errors: readonly ErrorCode[];
  /** Not in the specification's tables: an addition of ours. */
  readonly addition?: true;
  /** For the scanner runner alone: routed like the others, left out of the reference. */
  readonly internal?: true;
}

export interface OperationGroup<Operations extends Record<string, OperationDeclaration>> {
  /** The function that serves it: `functions/<name>`. */
  readonly name: string;
  readonly operations: Operations;
}

/** Declares the operations of one function, keyed by operation id. */
export function declareGroup<const Operations extends Record<string, OperationDeclaration>>(
  name: string,
  operations: Operations,
): OperationGroup<Operations> {
  return { name, operations };
}

export interface Operation extends OperationDeclaration {
  readonly id: string;
  readonly group: string;
}

/** The status of a code: Family A has 422 for all that is wrong with a body, a bad policy kind too (design 2). */
export function statusOf({ family }: Pick<OperationDeclaration, 'family'>, code: ErrorCode) {
  return family === 'A' && code === 'invalid_policy_kind' ? 422 : ERRORS[code].status;
}

/** The codes that an operation can answer: its own, and what its declaration implies. */
export function errorsOf(operation: OperationDeclaration): ErrorCode[] {
  const codes = new Set<ErrorCode>(operation.errors);
  if (operation.permission !== 'public') {
    for (const code of [
      'unauthorized',
      'token_expired',
      'token_invalid',
      'api_key_revoked',
      'api_key_expired',
    ] as const)
      codes.add(code);
    if (operation.permission !== 'signed-in') codes.add('insufficient_permissions');
  }
  if (operation.family === 'B') {
    if (operation.query) codes.add('invalid_parameter');
    if (operation.body) for (const code of ['invalid_json', 'validation_error'] as const) codes.add(code);
    if (operation.body && hasRequiredField(operation.body)) codes.add('missing_field');
  }
  if (operation.params) codes.add('not_found');
  if (operation.upload) for (const code of ['invalid_json', 'validation_error'] as const) codes.add(code);
  if (operation.body || operation.upload) codes.add('payload_too_large');
  for (const code of ['rate_limited', 'internal_error', 'service_unavailable'] as const) codes.add(code);
  return [...codes];
}

/** Whether a field must be there, at any depth. Rules over several fields are not seen: who has one declares the code. */
function hasRequiredField(body: z.ZodType): boolean {
  let found = false;
  const schema = z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' });
  JSON.stringify(schema, (key, value: unknown) => {
    if (key === 'required' && Array.isArray(value) && value.length > 0) found = true;
    return value;
  });
  return found;
}
