// The tests of what needs no editor.

import './approvals.test';
import './decisions.test';
import './grammar.test';
import './locate.test';
import './manifest.test';
import './runs.test';
import './visible.test';
