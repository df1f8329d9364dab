vim.filetype.add({ extension = { risor = 'risor' } })
