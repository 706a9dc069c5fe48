import '@mantine/core/styles.css';
import { MantineProvider, Title } from '@mantine/core';
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';

createRoot(document.querySelector('#root')).render(
  createElement(MantineProvider, null, createElement(Title, null, 'Empty')),
);
