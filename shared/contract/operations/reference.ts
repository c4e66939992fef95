import * as z from 'zod';
import { declareGroup } from '../operation.ts';

export const reference = declareGroup('reference', {
  getHealth: {
    family: 'A',
    method: 'GET',
    path: '/api/health',
    summary: 'Whether the service answers',
    permission: 'public',
    response: { status: 200, schema: z.object({ status: z.literal('ok'), version: z.string() }) },
    errors: [],
  },
  getOpenApiDocument: {
    family: 'A',
    method: 'GET',
    path: '/api/openapi.json',
    summary: 'This interface as an OpenAPI 3.1 document',
    permission: 'public',
    addition: true,
    response: { status: 200, schema: z.record(z.string(), z.unknown()) },
    errors: [],
  },
});
