-- For `vim.lsp.enable('fileops')` and `vim.lsp.config('fileops', {…})` (Nvim 0.11 and newer); Nvim 0.10 reads the
-- same table through `require('fileops').start()`.
return require('fileops.client.process').lsp_config()
