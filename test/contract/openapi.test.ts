import { describe, expect, it } from 'vitest';
import { operations } from '#contract/index.ts';
import { openApiDocument } from '#contract/openapi.ts';

const document = openApiDocument(operations, 'https://api.example.com') as {
  openapi: string;
  paths: Record<
    string,
    Record<
      string,
      { operationId: string; parameters: { name: string; in: string }[]; responses: Record<string, unknown> }
    >
  >;
  components: { schemas: Record<string, unknown> };
};

describe('the OpenAPI document', () => {
  it('describes every operation that is not internal, and no other', () => {
    const described = Object.values(document.paths).flatMap((path) =>
      Object.values(path).map((operation) => operation.operationId),
    );
    expect(described.sort()).toEqual(
      operations
        .filter((operation) => !operation.internal)
        .map((operation) => operation.id)
        .sort(),
    );
    expect(document.openapi).toBe('3.1.0');
  });

  it('refers only to schemas that it has', () => {
    const references = [
      ...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g),
    ].map((match) => match[1]);
    expect(references.length).toBeGreaterThan(50);
    expect(references.filter((name) => name === undefined || !(name in document.components.schemas))).toEqual(
      [],
    );
    expect(JSON.stringify(document)).not.toContain('#/$defs/');
  });

  it('names each parameter of a path', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();
      for (const operation of Object.values(methods)) {
        const declared = operation.parameters
          .filter((parameter) => parameter.in === 'path')
          .map((parameter) => parameter.name);
        expect(declared.sort(), `${operation.operationId} ${path}`).toEqual(named);
      }
    }
  });

  it('gives every operation its errors', () => {
    const finding = document.paths['/api/findings/{finding_id}']?.get;
    expect(Object.keys(finding?.responses ?? {})).toEqual(
      expect.arrayContaining(['200', '401', '403', '404', '429', '500', '503']),
    );
    const add = document.paths['/api/orgs/{org_id}/repositories/add']?.post;
    expect(JSON.stringify(add?.responses[422])).toContain('HTTPValidationError');
  });
});
