import { Tabs } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Page } from '../../parts/page.tsx';
import { Agents } from './agents.tsx';
import { Models } from './models.tsx';
import { Objectives } from './objectives.tsx';
import { Schedules } from './schedules.tsx';
import { Sources } from './sources.tsx';
import { settingsTabs } from './tabs.ts';
import { Telling } from './telling.tsx';
import { Users } from './users.tsx';
import { Vectors } from './vectors.tsx';

const panels = {
  models: Models,
  search: Vectors,
  sources: Sources,
  schedule: Schedules,
  users: Users,
  alerts: Telling,
  objectives: Objectives,
  agents: Agents,
} as const;

/** The settings that can be changed while the server runs, in tabs that each have an address. */
export function SettingsPage() {
  const { tab } = useSearch({ from: '/shell/settings' });
  const navigate = useNavigate();
  const shown = settingsTabs.find(({ value }) => value === tab) ?? settingsTabs[0];
  const Panel = panels[shown.value];
  return (
    <Page title="Settings">
      <Tabs
        value={shown.value}
        onChange={(value) =>
          void navigate({ to: '/settings', search: value === null ? {} : { tab: value } })
        }
        keepMounted={false}
      >
        {/* One row that can be scrolled on a phone. */}
        <Tabs.List mb="lg" style={{ flexWrap: 'nowrap', overflowX: 'auto' }}>
          {settingsTabs.map(({ value, label }) => (
            <Tabs.Tab key={value} value={value} px={{ base: 'xs', sm: 'md' }}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={shown.value}>
          <Panel />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
