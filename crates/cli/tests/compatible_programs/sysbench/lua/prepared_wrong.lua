-- Another number of values than the statement has parameters.
function prepare()
  local connection = sysbench.sql.driver():connect()
  for _, text in ipairs({ "SELECT 1", "SELECT ?", "SELECT ?, ?" }) do
    local statement = connection:prepare(text)
    local value = statement:bind_create(sysbench.sql.type.INT)
    value:set(7)
    print(text, statement:bind_param(value), statement:bind_param(value, value), statement:bind_param(value, value, value))
  end
end
