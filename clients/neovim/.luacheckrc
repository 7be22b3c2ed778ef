std = 'luajit'
cache = false
max_line_length = 120
read_globals = { 'vim', 'MiniTest' }
globals = { 'vim.g', 'vim.b', 'vim.w', 'vim.o', 'vim.bo', 'vim.wo', 'vim.opt', 'vim.env', 'vim.v', 'vim.notify' }
self = false
files['lua/fileops/client/wire_types.lua'] = { max_line_length = false } -- generated
