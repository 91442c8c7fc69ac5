module client

go 1.19

require (
	github.com/google/uuid v1.3.0 // indirect
	github.com/rudderlabs/analytics-go/v4 v4.2.0
	github.com/segmentio/backo-go v1.0.1 // indirect
	github.com/tidwall/gjson v1.14.4 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
)
