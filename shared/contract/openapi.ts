import * as z from 'zod';
import { ERRORS } from './errors.ts';
import { errorsOf, type Operation, statusOf, type Upload } from './operation.ts';

type Json = Record<string, unknown>;

/** Schemas that several operations share, by name: filled while the paths are written. */
type Components = Record<string, unknown>;

/**
 * The OpenAPI 3.1 document of the operations, made from the contract alone. Internal operations
 * are left out.
 * @param serverUrl public address of the API, without a slash at the end
 */
export function openApiDocument(operations: readonly Operation[], serverUrl: string): Json {
  const components: Components = { ...ERROR_SCHEMAS };
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    if (operation.internal) continue;
    const path = paths[operation.path] ?? {};
    path[operation.method.toLowerCase()] = describeOperation(operation, components);
    paths[operation.path] = path;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Application Security Posture Management API',
      version: '1.0.0',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: [...new Set(operations.filter((operation) => !operation.internal).map(tagOf))].map((name) => ({
      name,
    })),
    paths,
    components: {
      schemas: components,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'Access token of a login, or an API key' },
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-API-Key',
          description: 'API key of the organization',
        },
      },
    },
  };
}

const DESCRIPTION = [
  'Runs the scanners, keeps every finding exactly once, and serves it all over HTTPS.',
  'Sign in with `POST /api/auth/login`, or send an API key as `X-API-Key` or `Authorization: Bearer`.',
  'Every response carries `X-Request-ID` and the `X-RateLimit-*` headers; `verbose=true` adds suggestions to errors.',
].join('\n\n');

function tagOf(operation: Operation): string {
  return operation.group === 'reference' ? 'general' : operation.group;
}

function describeOperation(operation: Operation, components: Components): Json {
  return {
    operationId: operation.id,
    summary: operation.summary,
    tags: [tagOf(operation)],
    ...(operation.permission === 'public' && { security: [] }),
    'x-permission': operation.permission,
    ...(operation.addition && { 'x-addition': true }),
    parameters: [
      ...parametersOf('path', operation.params, components),
      ...parametersOf('query', operation.query, components),
      VERBOSE,
    ],
    ...(operation.upload && { requestBody: describeUpload(operation.upload) }),
    ...(operation.body && {
      requestBody: {
        required: !operation.bodyOptional,
        content: { 'application/json': { schema: toSchema(operation.body, 'input', components) } },
      },
    }),
    responses: {
      [operation.response.status]: {
        description: 'Success',
        headers: RESPONSE_HEADERS,
        content: {
          'application/json': { schema: toSchema(operation.response.schema, 'output', components) },
        },
      },
      ...errorResponses(operation),
    },
  };
}

function describeUpload({ description, contentTypes, example }: Upload): Json {
  const content = contentTypes.map((type) => [
    type,
    type.endsWith('json') ? { schema: {}, example } : { schema: { type: 'string', format: 'binary' } },
  ]);
  return { required: true, description, content: Object.fromEntries(content) };
}

const VERBOSE = {
  name: 'verbose',
  in: 'query',
  required: false,
  description: 'Adds stack context and a suggestion to errors',
  schema: { type: 'string', enum: ['true', 'false'] },
};

const header = (description: string, type = 'integer') => ({ description, schema: { type } });
const RATE_HEADERS = {
  'X-RateLimit-Limit': header('Requests of the current window'),
  'X-RateLimit-Remaining': header('Requests left in it'),
  'X-RateLimit-Reset': header('Unix time at which it resets'),
};
const RESPONSE_HEADERS = { 'X-Request-ID': header('Identifier of the request', 'string'), ...RATE_HEADERS };

function parametersOf(
  place: 'path' | 'query',
  schema: z.ZodObject | undefined,
  components: Components,
): Json[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = toSchema(schema, 'input', components) as {
    properties?: Json;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const { description, example, ...rest } = property as Json;
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description !== undefined && { description }),
      // The page fills examples in: right for what a path needs, wrong for a filter that nobody asked for.
      schema: place === 'path' && example !== undefined ? { ...rest, example } : rest,
    };
  });
}

/** Errors by status: each lists the codes that it can carry. */
function errorResponses(operation: Operation): Json {
  const byStatus = Map.groupBy(errorsOf(operation), (code) => statusOf(operation, code));
  const responses: Json = {};
  for (const [status, codes] of byStatus) {
    responses[status] = {
      description: codes.join(', '),
      headers:
        status === 429
          ? { ...RESPONSE_HEADERS, 'Retry-After': header('Seconds until a retry can succeed') }
          : RESPONSE_HEADERS,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    };
  }
  const validated = operation.params || operation.query || operation.body;
  if (operation.family === 'A' && validated)
    responses[422] = {
      description: ['The request is not valid', ...(byStatus.get(422) ?? [])].join(', '),
      headers: RESPONSE_HEADERS,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/HTTPValidationError' } } },
    };
  return responses;
}

const ERROR_SCHEMAS: Components = {
  Error: {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['code', 'message'],
        properties: {
          code: { type: 'string', enum: Object.keys(ERRORS) },
          message: { type: 'string' },
          details: {
            type: 'array',
            items: {
              type: 'object',
              required: ['field', 'message'],
              properties: {
                field: { type: 'string' },
                message: { type: 'string' },
                row: { type: 'integer' },
                col: { type: 'integer' },
              },
            },
          },
          retry_after: { type: 'integer' },
          stack_context: { type: 'object' },
          suggestion: { type: 'string' },
        },
      },
      retry_after: { type: 'integer' },
    },
  },
  HTTPValidationError: {
    type: 'object',
    required: ['detail'],
    properties: {
      detail: {
        type: 'array',
        items: {
          type: 'object',
          required: ['loc', 'msg', 'type'],
          properties: {
            loc: { type: 'array', items: { type: ['string', 'integer'] } },
            msg: { type: 'string' },
            type: { type: 'string' },
          },
        },
      },
      // Where a code of the catalogue says what is wrong.
      error: { type: 'object', description: 'As in Error' },
    },
  },
};

/** A zod schema as JSON Schema; named ones move to the components. */
function toSchema(schema: z.ZodType, io: 'input' | 'output', components: Components): Json {
  const {
    $schema: _,
    $defs = {},
    ...own
  } = z.toJSONSchema(schema, { io, unrepresentable: 'any', target: 'draft-2020-12' }) as Json & {
    $defs?: Record<string, Json>;
  };
  for (const [name, definition] of Object.entries($defs)) components[name] = relocate(definition);
  const { id, ...inline } = relocate(own);
  if (typeof id !== 'string') return inline;
  components[id] = inline;
  return { $ref: `#/components/schemas/${id}` };
}

/** References point into the document's components, whose entries need no `id` of their own. */
function relocate(schema: Json): Json {
  return JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      key === '$ref' && typeof value === 'string'
        ? value.replace('#/$defs/', '#/components/schemas/')
        : value,
    ),
  ) as Json;
}
