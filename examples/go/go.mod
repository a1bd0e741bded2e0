module example.org/classify

go 1.21
