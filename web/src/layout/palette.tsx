import '@mantine/spotlight/styles.css';
import { Spotlight, spotlight } from '@mantine/spotlight';
import { useNavigate } from '@tanstack/react-router';
import { places } from './places.ts';

export const openPalette = spotlight.open;

/** Lets the user go to a page by typing a few letters of its name. */
export default function Palette() {
  const navigate = useNavigate();
  return (
    <Spotlight
      shortcut={null}
      highlightQuery
      nothingFound="Nothing found"
      searchProps={{ placeholder: 'Go to…', 'aria-label': 'Go to' }}
      actions={places.map(({ to, label, icon: Icon }) => ({
        id: to,
        label,
        leftSection: <Icon width={18} height={18} />,
        onClick: () => void navigate({ to }),
      }))}
    />
  );
}
