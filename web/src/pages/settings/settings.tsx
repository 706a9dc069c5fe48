import { Tabs } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Page } from '../../parts/page.tsx';
import { Agents } from './agents.tsx';
import { Channels } from './channels.tsx';
import { Models } from './models.tsx';
import { Users } from './users.tsx';
import { Vectors } from './vectors.tsx';

const tabs = [
  { value: 'models', label: 'Models', Panel: Models },
  { value: 'search', label: 'Search', Panel: Vectors },
  { value: 'users', label: 'Users', Panel: Users },
  { value: 'alerts', label: 'Alerts', Panel: Channels },
  { value: 'agents', label: 'Agents', Panel: Agents },
] as const;

/** The settings that can be changed while the server runs, in tabs that each have an address. */
export function SettingsPage() {
  const { tab } = useSearch({ from: '/shell/settings' });
  const navigate = useNavigate();
  const shown = tabs.find(({ value }) => value === tab) ?? tabs[0];
  return (
    <Page title="Settings">
      <Tabs
        value={shown.value}
        onChange={(value) =>
          void navigate({ to: '/settings', search: value === null ? {} : { tab: value } })
        }
        keepMounted={false}
      >
        {/* One row, so that all tabs are visible on a phone too. */}
        <Tabs.List mb="lg" style={{ flexWrap: 'nowrap' }}>
          {tabs.map(({ value, label }) => (
            <Tabs.Tab key={value} value={value} px={{ base: 'xs', sm: 'md' }}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {tabs.map(({ value, Panel }) => (
          <Tabs.Panel key={value} value={value}>
            <Panel />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Page>
  );
}
