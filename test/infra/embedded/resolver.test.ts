// biome-ignore-all lint/suspicious/noTemplateCurlyInString: Fn::Sub is written so
import { describe, expect, it } from 'vitest';
import { createResolver } from '#infra/local/resolver.ts';

const template = {
  Resources: {
    Queue: { Type: 'AWS::SQS::Queue', Properties: {}, Metadata: {} },
    Subnet: { Type: 'AWS::EC2::Subnet', Properties: {}, Metadata: {} },
  },
};
const resolve = createResolver(
  template,
  new Map([['Queue', { ref: 'http://queue', attributes: { Arn: 'arn:queue' } }]]),
);

describe('intrinsic functions', () => {
  it.each([
    [{ Ref: 'Queue' }, 'http://queue'],
    [{ Ref: 'AWS::Region' }, 'us-east-1'],
    [{ 'Fn::GetAtt': ['Queue', 'Arn'] }, 'arn:queue'],
    [{ 'Fn::GetAtt': 'Queue.Arn' }, 'arn:queue'],
    [{ 'Fn::Join': ['/', ['a', { Ref: 'Queue' }, { 'Fn::Join': ['', ['b', 'c']] }]] }, 'a/http://queue/bc'],
    [
      { 'Fn::Sub': '${AWS::AccountId}-${Queue.Arn}-${Queue}-${!Literal}' },
      '000000000000-arn:queue-http://queue-${Literal}',
    ],
    [{ 'Fn::Sub': ['${Own}', { Own: { Ref: 'Queue' } }] }, 'http://queue'],
    [{ 'Fn::Select': [1, { 'Fn::Split': [':', 'a:b'] }] }, 'b'],
    [
      { plain: [1, true, null, { deep: { Ref: 'Queue' } }] },
      { plain: [1, true, null, { deep: 'http://queue' }] },
    ],
  ])('%j', (value, expected) => {
    expect(resolve(value)).toEqual(expected);
  });

  it('answer with the id for what exists in the other cloud alone', () => {
    expect(resolve({ Ref: 'Subnet' })).toBe('Subnet');
    expect(resolve({ 'Fn::GetAtt': ['Subnet', 'VpcId'] })).toBe('Subnet.VpcId');
  });

  it('are refused where they name nothing, or are not known', () => {
    expect(() => resolve({ Ref: 'Nothing' })).toThrow('Nothing');
    expect(() => resolve({ 'Fn::GetAtt': ['Nothing', 'Arn'] })).toThrow('Nothing');
    expect(() => resolve({ 'Fn::ImportValue': 'x' })).toThrow('Fn::ImportValue');
  });
});
