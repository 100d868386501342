// Package podlink reaches into pods through the API server, with the rights of a user:
// it runs programs that a pod's image has, and forwards connections to its ports.
//
// It knows no program and no protocol.
package podlink

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
)

// Link is a connection to an API server.
type Link struct {
	Config    *rest.Config
	Clientset kubernetes.Interface
}

// Exec runs a command in a container and returns its standard output, also that of one that
// fails. The error then has its standard error.
func (l Link) Exec(ctx context.Context, pod *corev1.Pod, container string, command ...string) (string, error) {
	options := &corev1.PodExecOptions{Container: container, Command: command, Stdout: true, Stderr: true}
	request := l.Clientset.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
		VersionedParams(options, scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(l.Config, http.MethodGet, request.URL().String())
	if err != nil {
		return "", err
	}
	var output, problems bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &output, Stderr: &problems})
	if err != nil {
		err = fmt.Errorf("%s in the pod %s/%s: %w: %s", command[0], pod.Namespace, pod.Name, err, strings.TrimSpace(problems.String()))
	}
	return output.String(), err
}

// Forward listens on a port of this machine's loopback for connections to a port of a pod,
// and returns its address. Stop ends it. The connections end with the pod.
func (l Link) Forward(ctx context.Context, pod *corev1.Pod, port int) (address string, stop func(), err error) {
	request := l.Clientset.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("portforward")
	dialer, err := portforward.NewSPDYOverWebsocketDialerForStreaming(request.URL(), l.Config)
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ready, ended := make(chan struct{}), make(chan struct{})
	var failure error // known when ended is closed
	forwarder, err := portforward.NewOnAddressesForStreamingWithContext(ctx, dialer, []string{"127.0.0.1"},
		[]string{fmt.Sprintf("0:%d", port)}, ready, io.Discard, io.Discard)
	if err != nil {
		cancel()
		return "", nil, err
	}
	go func() {
		defer close(ended)
		failure = forwarder.ForwardPorts()
	}()
	select {
	case <-ended:
		cancel()
		return "", nil, fmt.Errorf("reach the port %d of the pod %s/%s: %w", port, pod.Namespace, pod.Name, failure)
	case <-ready:
	}
	stop = func() {
		cancel()
		<-ended
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		stop()
		return "", nil, err
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local), stop, nil
}
