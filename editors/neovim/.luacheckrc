std = 'luajit'
globals = { 'vim' }
max_line_length = 120
files['tests'] = { globals = { 'vim', 'test', 'has', 'equal' }, max_line_length = 160 }
