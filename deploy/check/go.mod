module truetps.example/deploy-check

go 1.23
