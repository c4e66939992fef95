import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { WireAnswer } from './wire.ts';

/** Marks what the function said itself, and holds a short event: an answer to HEAD has headers alone. */
const EVENT_HEADER = 'x-event';

/** Answers the event that it was given. Its text is deployed as it is: it knows nothing but its argument. */
export function echo(event: APIGatewayProxyEventV2): APIGatewayProxyStructuredResultV2 {
  const text = JSON.stringify(event);
  return {
    statusCode: 200,
    headers: {
      'content-type': 'application/json',
      'x-event': text.length < 4000 ? Buffer.from(text).toString('base64') : 'in the body',
    },
    body: text,
  };
}

/** A function of Lambda that echoes. */
export const ECHO_SOURCE = `exports.handler = async (event) => (${echo})(event);`;

/** The event that the function was given; null where it was not asked. */
export function eventOf(answer: WireAnswer | null): APIGatewayProxyEventV2 | null {
  const told = answer?.headers.get(EVENT_HEADER);
  if (!answer || told === undefined) return null;
  const text = told === 'in the body' ? answer.body.toString() : Buffer.from(told, 'base64').toString();
  return JSON.parse(text) as APIGatewayProxyEventV2;
}
