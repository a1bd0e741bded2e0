module github.com/retvec-lite/retvec-lite/bindings/go

go 1.21
