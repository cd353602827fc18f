// Registry keeps images in memory and, unlike Debian's docker-registry, says by the API of its specification what refers to an image. It
// writes its address to standard output, logs a line per request to standard error, and ends with its standard input.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	server := &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler:           registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(os.Stderr, "", 0))),
	}
	log.Fatal(server.Serve(listener))
}
