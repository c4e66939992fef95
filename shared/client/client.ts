import type * as z from 'zod';
import type { ErrorCode } from '#contract/errors.ts';
import type { OperationDeclaration } from '#contract/operation.ts';
import type { ErrorDetail } from '#domain/errors.ts';

/** An answer of the API that is no success. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  /** A code of the catalogue; `validation_error` for Family A's 422. */
  readonly code: ErrorCode;
  readonly requestId: string | null;
  readonly details: readonly ErrorDetail[];
  /** Seconds, of a 429. */
  readonly retryAfter: number | null;

  constructor(response: Response, body: ErrorBody) {
    super(body.error?.message ?? body.detail?.[0]?.msg ?? `The server answered ${response.status}`);
    this.status = response.status;
    this.code = body.error?.code ?? (response.status === 422 ? 'validation_error' : 'internal_error');
    this.requestId = response.headers.get('x-request-id');
    this.details =
      body.error?.details ??
      (body.detail ?? []).map((item) => ({ field: item.loc.slice(1).join('.'), message: item.msg }));
    this.retryAfter = body.retry_after ?? null;
  }
}

interface ErrorBody {
  readonly error?: {
    readonly code: ErrorCode;
    readonly message: string;
    readonly details?: readonly ErrorDetail[];
  };
  readonly detail?: readonly { readonly loc: readonly (string | number)[]; readonly msg: string }[];
  readonly retry_after?: number;
}

type Input<Schema> = Schema extends z.ZodType ? z.input<Schema> : never;
/** Everything goes over the wire as text: numbers are welcome in a query. */
type QueryValues<Schema> = { [Name in keyof Input<Schema>]?: string | number | undefined };

export interface CallInput<O extends OperationDeclaration> {
  readonly params?: O['params'] extends z.ZodType ? { [Name in keyof z.input<O['params']>]: string } : never;
  readonly query?: O['query'] extends z.ZodType
    ? QueryValues<O['query']> & { verbose?: 'true' }
    : { verbose?: 'true' };
  readonly body?: Input<O['body']>;
  /** The file of operations that take one; `headers` names its content type. */
  readonly upload?: O extends { upload: object } ? Uint8Array<ArrayBuffer> | string : never;
  readonly headers?: Record<string, string>;
}

export interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

interface ClientOptions {
  /** Without a slash at the end. */
  readonly url: string;
  /** An access token or an API key; goes out as `Authorization: Bearer`. */
  readonly credential?: string;
  /** Checks answers against the operation's schema: for tests. */
  readonly strict?: boolean;
}

export type Client = ReturnType<typeof createClient>;

/** A client of the API, typed by the contract: `client.call(findings.operations.listFindings, { query: … })`. */
export function createClient({ url, credential, strict = false }: ClientOptions) {
  async function send<O extends OperationDeclaration>(
    operation: O,
    input: CallInput<O> = {},
  ): Promise<Answer<z.output<O['response']['schema']>>> {
    const response = await fetch(
      `${url}${pathOf(operation.path, input.params ?? {})}${queryOf(input.query ?? {})}`,
      {
        method: operation.method,
        headers: {
          ...(input.body !== undefined && { 'content-type': 'application/json' }),
          ...(credential && { authorization: `Bearer ${credential}` }),
          ...input.headers,
        },
        ...(input.body !== undefined && { body: JSON.stringify(input.body) }),
        ...(input.upload !== undefined && { body: input.upload }),
      },
    );
    const body: unknown = await response.json();
    if (!response.ok) throw new ApiError(response, body as ErrorBody);
    if (strict && response.status !== operation.response.status)
      throw new Error(
        `${operation.method} ${operation.path} answered ${response.status}, not ${operation.response.status}`,
      );
    const checked = strict ? operation.response.schema.parse(body) : body;
    return {
      status: response.status,
      headers: response.headers,
      body: checked as z.output<O['response']['schema']>,
    };
  }

  return {
    send,
    /** The body of a successful answer. @throws ApiError */
    async call<O extends OperationDeclaration>(
      operation: O,
      input: CallInput<O> = {},
    ): Promise<z.output<O['response']['schema']>> {
      return (await send(operation, input)).body;
    },
  };
}

function pathOf(path: string, params: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
}

function queryOf(query: Readonly<Record<string, string | number | undefined>>): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined);
  return entries.length === 0
    ? ''
    : `?${new URLSearchParams(entries.map(([name, value]): [string, string] => [name, String(value)]))}`;
}
