-- For trying options without a database: an event looks for prime numbers.
sysbench.cmdline.options = {
  ["cpu-max-prime"] = { "Largest number that is tested", 10000 },
}

function event()
  local found = 0
  for number = 3, sysbench.opt.cpu_max_prime do
    local is_prime = true
    for divisor = 2, math.floor(math.sqrt(number)) do
      if number % divisor == 0 then
        is_prime = false
        break
      end
    end
    if is_prime then found = found + 1 end
  end
end
