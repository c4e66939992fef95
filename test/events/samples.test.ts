import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DeletionRequested } from '#events/deletions.ts';
import { ExportRequested } from '#events/exports.ts';
import * as pipeline from '#events/pipeline.ts';
import { ReevaluationRequested } from '#events/reevaluations.ts';
import { ObjectsCreated } from '#events/uploads.ts';

const FOLDER = new URL('../../events/samples/', import.meta.url);
const SCHEMAS = {
  'scan-requested.json': pipeline.ScanRequested,
  'dispatch-requested.json': pipeline.DispatchRequested,
  'run-execution.json': pipeline.RunExecution,
  'ingest-step.json': pipeline.IngestStep,
  'import-requested.json': pipeline.ImportRequested,
  'finish-run-step.json': pipeline.FinishRunStep,
  'export-requested.json': ExportRequested,
  'objects-created.json': ObjectsCreated,
  'deletion-requested.json': DeletionRequested,
  'reevaluation-requested.json': ReevaluationRequested,
};

describe('samples of what travels', () => {
  it('exist for each schema', () => {
    expect(readdirSync(FOLDER).sort()).toEqual(Object.keys(SCHEMAS).sort());
    expect(Object.values(SCHEMAS)).toHaveLength(Object.keys(pipeline).length + 4);
  });

  it.each(Object.entries(SCHEMAS))('%s is what its schema says, to the field', (file, schema) => {
    const sample: unknown = JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8'));
    expect(schema.parse(sample)).toEqual(sample);
    // References only: far below the 256 KB of queues and executions.
    expect(JSON.stringify(sample).length).toBeLessThan(1000);
    expect(schema.safeParse([]).success).toBe(false);
  });
});
