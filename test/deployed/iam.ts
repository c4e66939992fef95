import { readFileSync } from 'node:fs';
import {
  GetRolePolicyCommand,
  IAMClient,
  ListRolePoliciesCommand,
  ListRolesCommand,
  PutRolePolicyCommand,
} from '@aws-sdk/client-iam';
import { FUNCTION_NAMES, type FunctionName } from '#infra/functions/catalogue.ts';
import { REGION, ROOT } from './emulator/start.ts';

/** One action that a function may do, or asked for. */
export interface Grant {
  readonly functionName: FunctionName;
  readonly action: string;
}

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
}

interface RolePolicy {
  readonly functionName: FunctionName;
  readonly role: string;
  readonly name: string;
  readonly statements: readonly Statement[];
}

const actionsOf = ({ Action }: Statement): readonly string[] =>
  typeof Action === 'string' ? [Action] : Action;

/** The policies of the functions' roles, as they are in the account. */
export function openIam(endpoint: string) {
  const client = new IAMClient({ endpoint, region: REGION, credentials: ROOT });

  async function readPolicies(): Promise<RolePolicy[]> {
    const policies: RolePolicy[] = [];
    for (let marker: string | undefined; ; ) {
      const page = await client.send(new ListRolesCommand({ ...(marker && { Marker: marker }) }));
      for (const { RoleName: role = '' } of page.Roles ?? []) {
        const functionName = functionOf(role);
        if (functionName === null) continue;
        const { PolicyNames = [] } = await client.send(new ListRolePoliciesCommand({ RoleName: role }));
        for (const name of PolicyNames)
          policies.push({ functionName, role, name, statements: await readStatements(role, name) });
      }
      marker = page.Marker;
      if (!page.IsTruncated) return policies;
    }
  }

  async function readStatements(role: string, name: string): Promise<Statement[]> {
    const answer = await client.send(new GetRolePolicyCommand({ RoleName: role, PolicyName: name }));
    return JSON.parse(decodeURIComponent(answer.PolicyDocument ?? '{}')).Statement;
  }

  const write = ({ role, name }: RolePolicy, statements: readonly Statement[]) =>
    client.send(
      new PutRolePolicyCommand({
        RoleName: role,
        PolicyName: name,
        PolicyDocument: JSON.stringify({ Version: '2012-10-17', Statement: statements }),
      }),
    );

  return {
    async granted(): Promise<Grant[]> {
      const policies = await readPolicies();
      return policies.flatMap(({ functionName, statements }) =>
        [...new Set(statements.flatMap(actionsOf))].map((action) => ({ functionName, action })),
      );
    },
    /** Takes one action away, until the answer is disposed of. */
    async without({ functionName, action }: Grant): Promise<AsyncDisposable> {
      const policies = (await readPolicies()).filter((one) => one.functionName === functionName);
      for (const policy of policies) {
        const left = policy.statements
          .map((statement) => ({
            ...statement,
            Action: actionsOf(statement).filter((one) => one !== action),
          }))
          .filter(({ Action }) => Action.length > 0);
        await write(policy, left);
      }
      return {
        async [Symbol.asyncDispose]() {
          for (const policy of policies) await write(policy, policy.statements);
        },
      };
    },
  };
}

/** Whose role it is: CloudFormation names it after the function's construct. */
function functionOf(role: string): FunctionName | null {
  const [, construct] = /Functions([a-z]+)Role/.exec(role) ?? [];
  return FUNCTION_NAMES.find((name) => name.replaceAll('-', '') === construct) ?? null;
}

/** What functions asked IAM for, as far as the log goes; from a place in it on. */
export function readIamLog(
  path: string,
  from = 0,
): (Grant & { readonly allowed: boolean; readonly resource: string })[] {
  return readFileSync(path, 'utf8')
    .slice(from)
    .split('\n')
    .flatMap((line) => {
      const [principal = '', action = '', resource = '', decision] = line.split('\t');
      const functionName = functionOf(principal);
      return functionName === null ? [] : [{ functionName, action, resource, allowed: decision === 'Allow' }];
    });
}
