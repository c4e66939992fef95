import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { attack } from '#test/harness/attack.ts';
import { statusesOf } from '#test/harness/importing.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { requireScanner } from '#test/harness/scanner-databases.ts';
import { addRepository, scanToEnd } from '#test/harness/scanning.ts';
import { commitFiles, git } from '#test/harness/vulnerable-repository.ts';

const BUCKET = 'resource "aws_s3_bucket" "b" {\n  bucket = "x"\n}\n';
const POD = `apiVersion: v1
kind: Pod
metadata:
  name: x
spec:
  containers:
    - name: c
      image: x
      securityContext:
        privileged: true
`;
const STACK = `AWSTemplateFormatVersion: "2010-09-09"
Resources:
  B:
    Type: AWS::S3::Bucket
`;
const WEAK = {
  'broken/main.tf': BUCKET,
  'circle/main.tf': BUCKET,
  'called/main.tf': BUCKET,
  'caller/main.tf': 'module "called" {\n  source = "../called"\n}\n',
  'image/Dockerfile': 'FROM ubuntu:latest\nUSER root\n',
  'pod.yaml': POD,
  'stack.yaml': STACK,
};
/** What its consumers may not read either; nobody has looked at what was found in it. */
const BROKEN = {
  'broken/main.tf': `${BUCKET}x = {{{\n`,
  'circle/self.tf': 'module "self" {\n  source = "./"\n}\n',
  'image/Dockerfile': 'FROM ubuntu:latest\nUSER root\nFOO bar\n',
  'pod.yaml': `${POD}---\n{{ bad: [\n`,
  'stack.yaml': `${STACK}  C: !Bad [\n`,
};

let root: string;
let org: TestOrganization;
beforeAll(async () => {
  await requireScanner('trivy');
  root = await mkdtemp(join(tmpdir(), 'unparsed-'));
  await git(root, 'init', '--quiet', '--initial-branch=main');
  org = await createTestOrganization();
});
afterAll(() => rm(root, { recursive: true, force: true }));

describe('a file that a scanner can not parse any more', () => {
  attack(
    'hostile repositories',
    'got through',
    'of Terraform, Docker, Kubernetes and CloudFormation',
    async () => {
      await commitFiles(root, WEAK, 'weak');
      const asset = await addRepository(org, pathToFileURL(root).href);
      await scanToEnd(org, asset, ['trivy']);
      const open = await statusesOf(org, asset);
      for (const path of Object.keys(WEAK)) {
        if (path !== 'caller/main.tf') expect([path, open[path]]).toEqual([path, 'open']);
      }
      await commitFiles(root, BROKEN, 'broken');
      expect(await scanToEnd(org, asset, ['trivy'])).toMatchObject({
        status: 'completed',
        resolved_count: 0,
      });
      expect(await statusesOf(org, asset)).toEqual(open);
      // What is read again and found mended is resolved; so is what a module that is called no longer has.
      await commitFiles(
        root,
        {
          'image/Dockerfile': 'FROM ubuntu:24.04\nUSER app\nHEALTHCHECK CMD true\n',
          'called/main.tf': 'locals {}\n',
        },
        'mended',
      );
      await scanToEnd(org, asset, ['trivy']);
      expect(await statusesOf(org, asset)).toEqual({
        ...open,
        'image/Dockerfile': 'resolved',
        'called/main.tf': 'resolved',
      });
    },
    240_000,
  );
});
