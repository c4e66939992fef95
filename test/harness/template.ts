import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { readDeployment } from '#infra/deployment.ts';
import { CDK_FEATURES } from '#infra/project.ts';
import { AspmStack } from '#infra/stack.ts';

export interface Resource {
  readonly Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: CloudFormation's properties, looked into at many depths
  readonly Properties: any;
  readonly Metadata?: Record<string, unknown>;
}

/** The template that a deployment with these choices has; functions are not bundled unless it says so. */
export function synthesize(context: Record<string, unknown> = {}) {
  const app = new App({
    context: { ...CDK_FEATURES, bundle: false, ...context },
  });
  const stack = new AspmStack(app, 'Aspm', { deployment: readDeployment(app.node) });
  return { app, stack, template: Template.fromStack(stack) };
}

/** A template as people read it: its references as names, without the hashes of logical ids. */
export class ReadableTemplate {
  readonly #resources: Record<string, Resource>;

  constructor(template: Template) {
    this.#resources = template.toJSON().Resources as Record<string, Resource>;
  }

  all(type: string): [id: string, resource: Resource][] {
    return Object.entries(this.#resources).filter(([, resource]) => resource.Type === type);
  }

  get types(): string[] {
    return [...new Set(Object.values(this.#resources).map(({ Type }) => Type))].sort();
  }

  /** A function by its folder's name, anything else by its logical id without the hash. */
  nameOf(id: string): string {
    const own = this.#resources[id]?.Metadata?.['aspm:function'];
    return typeof own === 'string' ? own : id.replace(/[0-9A-F]{8}$/, '');
  }

  /** A value with its references resolved to names: `<Key.Arn>`, `<AWS::Region>`. */
  plain(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.plain(item));
    if (typeof value !== 'object' || value === null) return value;
    if ('Ref' in value) return `<${this.nameOf(String(value.Ref))}>`;
    if ('Fn::GetAtt' in value) {
      const [id, attribute] = value['Fn::GetAtt'] as [string, string];
      return `<${this.nameOf(id)}.${attribute}>`;
    }
    if ('Fn::Sub' in value) return String(value['Fn::Sub']);
    if ('Fn::Join' in value) {
      const [separator, parts] = value['Fn::Join'] as [string, unknown[]];
      return parts.map((part) => this.plain(part)).join(separator);
    }
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, this.plain(item)]));
  }
}
