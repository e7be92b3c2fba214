-- Errors of the server, and what a script learns of them.
local function try(con, sql)
  local ok, err = pcall(con.query, con, sql)
  if type(err) == "table" then
    err = "table of code " .. tostring(err.errcode)
  end
  print(ok, err)
  print("  ", tonumber(con.error), con.sql_errno, con.sql_state ~= nil and ffi.string(con.sql_state) or "none")
end

function event()
  local con = sysbench.sql.driver():connect()
  con:query("DROP TABLE IF EXISTS narrow")
  con:query("CREATE TABLE narrow (id INTEGER PRIMARY KEY, word VARCHAR(3) NOT NULL)")
  try(con, "SELECT nothing FROM nowhere")
  try(con, "INSERT INTO narrow VALUES (1, NULL)")
  try(con, "INSERT INTO narrow VALUES (1, 'abc')")
  try(con, "DROP TABLE absent")
  try(con, "SELEKT 1")
  try(con, "")
  print(pcall(con.query_row, con, "SELECT 1 FROM absent"))
  print(con:query_row("SELECT COUNT(*) FROM narrow"))
end

-- An error that no one handles ends the run.
function cleanup()
  sysbench.sql.driver():connect():query("SELECT 1 FROM absent")
end
