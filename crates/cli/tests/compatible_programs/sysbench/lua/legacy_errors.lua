-- What the old functions do when they fail.
local function try(name, ...)
  print(name, pcall(...))
end

function prepare()
  try("a wrong statement", db_query, "SELEKT")
  try("no table", db_query, "SELECT 1 FROM absent")
  try("no bulk", db_bulk_insert_next, "(1)")
  try("a wrong prepare", db_prepare, "SELECT 1 FROM absent")
  local statement = db_prepare("SELECT ?")
  try("a wrong value", db_bind_param, statement, { true })
  db_query("DROP TABLE IF EXISTS absent")
end

function event()
  db_query("SELECT 1 FROM absent")
end
