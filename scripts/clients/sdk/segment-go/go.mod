module client

go 1.19

require (
	github.com/google/uuid v1.3.0 // indirect
	github.com/segmentio/analytics-go/v3 v3.3.0
	github.com/segmentio/backo-go v1.0.0 // indirect
)
