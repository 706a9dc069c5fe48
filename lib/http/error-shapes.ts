import * as z from 'zod';

/** What is wrong with the fields of a request; only where its input does not match. */
const details = z
  .array(z.object({ path: z.string(), message: z.string() }))
  .optional()
  .meta({ description: 'What is wrong with each field; only if that is the error.' });

/** Body of 400, 404, 405 and 413. */
export const plainError = z
  .object({ error: z.string(), request_id: z.string(), details })
  .meta({ id: 'Error' });

/** Body of every other error. */
export const errorEnvelope = z
  .object({
    success: z.literal(false),
    error: z.object({ code: z.string(), message: z.string(), request_id: z.string() }),
    message: z.string(),
  })
  .meta({ id: 'ErrorEnvelope' });

/** Body of every error of the observatory. */
export const observatoryError = z
  .object({
    success: z.literal(false),
    error: z.object({
      code: z.string(),
      message: z.string(),
      details,
    }),
    request_id: z.string(),
    report_id: z.guid().optional().meta({
      description: 'The report that was not mailed; only with EMAIL_DELIVERY_FAILED and CONFLICT.',
    }),
  })
  .meta({ id: 'ObservatoryError' });
