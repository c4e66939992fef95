import { inject } from 'vitest';
import * as z from 'zod';
import type { ErrorCode } from '#contract/errors.ts';
import { operations } from '#contract/index.ts';
import { openApiDocument } from '#contract/openapi.ts';
import { errorsOf, type Operation, statusOf } from '#contract/operation.ts';
import type { RawAnswer } from '#test/harness/http.ts';

/** The part of an OpenAPI document that says what is answered. */
interface Document {
  readonly paths: Record<string, Record<string, { readonly responses: Record<string, Response> }>>;
  readonly components: { readonly schemas: Record<string, unknown> };
}
interface Response {
  readonly content: { readonly 'application/json': { readonly schema: object } };
}

export type Declarations = Awaited<ReturnType<typeof readDeclarations>>;

/**
 * What the served document promises of answers. Of the runner's operations, which it leaves out, the same
 * is said by a document of their own.
 */
export async function readDeclarations() {
  const { url } = inject('service');
  const served = (await (await fetch(`${url}/api/openapi.json`)).json()) as Document;
  const internal = operations
    .filter((operation) => operation.internal)
    .map(({ internal: _, ...operation }) => operation);
  const unserved = openApiDocument(internal, url) as unknown as Document;
  const read = new Map<string, z.ZodType>();

  function schemaOf(operation: Operation, status: number): z.ZodType | null {
    const name = `${operation.id} ${status}`;
    const document = operation.internal ? unserved : served;
    const described = document.paths[operation.path]?.[operation.method.toLowerCase()]?.responses[status];
    if (!described) return null;
    const schema = read.get(name) ?? readSchema(described, document);
    read.set(name, schema);
    return schema;
  }

  return {
    /** What is wrong with an answer, whatever it says; empty where it keeps all that is promised. */
    complaintsOf(operation: Operation, answer: RawAnswer): string[] {
      const schema = schemaOf(operation, answer.status);
      const parsed = schema?.safeParse(answer.body);
      return [
        ...(schema ? [] : ['the status is not declared']),
        ...(parsed?.error ? [`not the declared body: ${parsed.error.message}`] : []),
        ...(answer.status === operation.response.status ? [] : codeComplaints(operation, answer)),
        ...headerComplaints(answer),
      ].map((complaint) => `${operation.id}: ${complaint}: ${told(answer)}`);
    },
  };
}

/** A schema of the document, with the components that it refers to. */
function readSchema(described: Response, { components }: Document): z.ZodType {
  const { schema } = described.content['application/json'];
  const whole = JSON.stringify({ ...schema, $defs: components.schemas });
  return z.fromJSONSchema(JSON.parse(whole.replaceAll('#/components/schemas/', '#/$defs/')));
}

function codeComplaints(operation: Operation, { status, body }: RawAnswer): string[] {
  // Family A's 422 need not have a code.
  if (body.error === undefined) return status === 422 && operation.family === 'A' ? [] : ['no error'];
  const code = errorsOf(operation).find((declared) => declared === body.error?.code);
  if (!code) return ['the code is not declared'];
  return status === statusOf(operation, code) ? [] : ['the code has another status'];
}

/** Headers that every answer has, and those that say when to come back. */
function headerComplaints({ status, headers, body }: RawAnswer): string[] {
  const complaints: string[] = [];
  if (!/^req_[0-9a-f]{32}$/.test(headers.get('x-request-id') ?? '')) complaints.push('no X-Request-ID');
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'])
    if (!/^\d+$/.test(headers.get(name) ?? '')) complaints.push(`no ${name}`);
  const code = body.error?.code as ErrorCode | undefined;
  if (code === 'rate_limited' && headers.get('x-ratelimit-remaining') !== '0')
    complaints.push('refused with requests left');
  const after = headers.get('retry-after');
  const waits = [after === null ? undefined : Number(after), body.retry_after, body.error?.retry_after];
  if (status === 429 && after === null) complaints.push('no Retry-After');
  if (new Set(waits).size > 1) complaints.push(`several times to wait: ${waits.join(', ')}`);
  if (after !== null && !/^[1-9]\d*$/.test(after)) complaints.push(`Retry-After is ${after}`);
  return complaints;
}

export function told({ status, body }: RawAnswer): string {
  return `${status} ${JSON.stringify(body).slice(0, 500)}`;
}
