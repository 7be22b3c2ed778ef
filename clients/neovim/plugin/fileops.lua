if vim.g.loaded_fileops then return end
vim.g.loaded_fileops = true
require('fileops.commands').define()
