import { mkdtemp, rm, symlink } from 'node:fs/promises';
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
  await git(root, 'init', '--quiet', '--initial-branch=main', 'weak');
  org = await createTestOrganization();
});
afterAll(() => rm(root, { recursive: true, force: true }));

const WEAK_PYTHON = 'import hashlib\n\n\ndef sign(x):\n    return hashlib.md5(x)\n';

describe('a file that a language reads otherwise than its scanner', () => {
  attack(
    'hostile repositories',
    'got through',
    'by its line ends, its coding, or as a link',
    async () => {
      await requireScanner('semgrep');
      const folder = await mkdtemp(join(root, 'python-'));
      await git(folder, 'init', '--quiet', '--initial-branch=main');
      const paths = ['ends.py', 'separator.py', 'coded.py', 'link.py'];
      await commitFiles(folder, Object.fromEntries(paths.map((path) => [path, WEAK_PYTHON])), 'weak');
      const asset = await addRepository(org, pathToFileURL(folder).href);
      await scanToEnd(org, asset, ['semgrep']);
      const open = Object.fromEntries(paths.map((path) => [path, 'open']));
      expect(await statusesOf(org, asset)).toEqual(open);
      await git(folder, 'rm', '--quiet', 'link.py');
      await symlink('real.txt', join(folder, 'link.py'));
      await commitFiles(
        folder,
        {
          'ends.py': WEAK_PYTHON.replace('    return', '    # quiet\r    return'),
          'separator.py': WEAK_PYTHON.replace('    return', '    # quiet\u2028    return'),
          'coded.py': `# coding: utf-7\n${WEAK_PYTHON.replace('md5', '+AG0-d5')}`,
          'real.txt': WEAK_PYTHON,
        },
        'hidden',
      );
      expect(await scanToEnd(org, asset, ['semgrep'])).toMatchObject({ status: 'completed' });
      expect(await statusesOf(org, asset)).toEqual(open);
    },
    240_000,
  );
});

describe('a file that a scanner can not parse any more', () => {
  attack(
    'hostile repositories',
    'got through',
    'of Terraform, Docker, Kubernetes and CloudFormation',
    async () => {
      await commitFiles(join(root, 'weak'), WEAK, 'weak');
      const asset = await addRepository(org, pathToFileURL(join(root, 'weak')).href);
      await scanToEnd(org, asset, ['trivy']);
      const open = await statusesOf(org, asset);
      for (const path of Object.keys(WEAK)) {
        if (path !== 'caller/main.tf') expect([path, open[path]]).toEqual([path, 'open']);
      }
      await commitFiles(join(root, 'weak'), BROKEN, 'broken');
      expect(await scanToEnd(org, asset, ['trivy'])).toMatchObject({
        status: 'completed',
        resolved_count: 0,
      });
      expect(await statusesOf(org, asset)).toEqual(open);
      // What is read again and found mended is resolved; so is what a module that is called no longer has.
      await commitFiles(
        join(root, 'weak'),
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
