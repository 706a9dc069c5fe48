import { List, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { toolResult } from '../api/queries.ts';
import { Loaded } from '../parts/loading.tsx';
import { WithCommands } from '../parts/with-commands.tsx';

/** The parts of the diagnosis that are shown here; the page lists the failures above it. */
interface DiagnosisResult {
  message?: string;
  recommended_actions?: string[];
  similar_past_incidents?: { run_id: number | null; resolution: string }[];
}

/** The diagnosis names tools for agents; these replacements name what the page offers instead. */
const onThisPage: readonly (readonly [RegExp, string])[] = [
  [/^Compare with similar_past_incidents.*/, ''],
  [
    /^Once the cause is fixed, queue a run with trigger_backup_run\./,
    'Once the cause is fixed, use “Back up now” on the repository’s page.',
  ],
  [/ with record_backup_fix/, ' below'],
  [/ in unread_sources/, ''],
  [/ with get_execution_logs and run_id \d+/, ' in the log below'],
  [/get_system_health shows/, 'the overview shows'],
];

function forPeople(action: string): string {
  return onThisPage.reduce((text, [tool, instead]) => text.replace(tool, instead), action);
}

/** Why a run failed, and what to do about it. */
export function Diagnosis({ run }: { run: number }) {
  const query = useQuery(toolResult('diagnose_backup_failure', { run_id: run }));
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        What to do
      </Title>
      <Loaded query={query} lines={3}>
        {(result) => {
          const { recommended_actions = [], similar_past_incidents = [] } =
            result as DiagnosisResult;
          return (
            <Stack gap="sm">
              <List size="sm" spacing={4}>
                {recommended_actions
                  .map(forPeople)
                  .filter((action) => action !== '')
                  .map((action) => (
                    <List.Item key={action}>
                      <WithCommands text={action} />
                    </List.Item>
                  ))}
              </List>
              {similar_past_incidents.length > 0 && (
                <>
                  <Text size="sm" fw={600}>
                    How earlier failures were fixed
                  </Text>
                  <List size="sm" spacing={4}>
                    {similar_past_incidents.map(({ run_id, resolution }) => (
                      <List.Item key={`${run_id} ${resolution}`}>
                        <Text size="sm" span lineClamp={3} style={{ overflowWrap: 'anywhere' }}>
                          {resolution}
                        </Text>
                      </List.Item>
                    ))}
                  </List>
                </>
              )}
            </Stack>
          );
        }}
      </Loaded>
    </Stack>
  );
}
